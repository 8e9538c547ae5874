// The result of a piece of work as bytes, and back: what goes between processes and into files.
//
// Both ends are the same program (the fingerprint of a file has its version), so values stand as
// they do in memory. Structs are taken apart field by field by Boost.PFR: a new field is carried
// without a line here.
#pragma once

#include <array>
#include <cstddef>
#include <cstring>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include <boost/pfr.hpp>

#include "traces/error.hpp"
#include "traces/ids.hpp"
#include "traces/units.hpp"

namespace highwater {

/// Classes whose bytes are their value: no pointer in them, and no field that PFR can reach.
template <class T>
inline constexpr bool kIsPlainValue = std::is_arithmetic_v<T> || std::is_enum_v<T>;
template <>
inline constexpr bool kIsPlainValue<Bytes> = true;
template <class Tag>
inline constexpr bool kIsPlainValue<Id<Tag>> = true;

/// How a type is written that is neither plain nor a struct of such: a pointer into a table by the
/// name of its row, for example. A specialisation has `write(Writer&, const T&)` and
/// `read(Reader&)`.
template <class T>
struct PieceCodec;

template <class T>
concept HasPieceCodec = requires {
  sizeof(PieceCodec<T>);
};

/// Boost.PFR counts fields by trying, at a cost that grows with the square of a struct's size:
/// larger ones have a PieceCodec.
inline constexpr std::size_t kLargestByFields = 640;

class PieceWriter {
 public:
  template <class T>
  void put(const T& value) {
    if constexpr (HasPieceCodec<T>) {
      PieceCodec<T>::write(*this, value);
    } else if constexpr (kIsPlainValue<T>) {
      static_assert(std::is_trivially_copyable_v<T>);
      bytes_.append(reinterpret_cast<const char*>(&value), sizeof value);
    } else {
      static_assert(sizeof(T) <= kLargestByFields, "give the struct a PieceCodec");
      boost::pfr::for_each_field(value, [this](const auto& field) { this->put(field); });
    }
  }

  void put(const std::string& text) {
    put(text.size());
    bytes_ += text;
  }

  template <class T>
  void put(const std::optional<T>& value) {
    put(value.has_value());
    if (value) {
      put(*value);
    }
  }

  template <class T>
  void put(const std::vector<T>& list) {
    put(list.size());
    for (const auto& each : list) {
      put(each);
    }
  }

  template <class T, std::size_t N>
  void put(const std::array<T, N>& list) {
    for (const T& each : list) {
      put(each);
    }
  }

  template <class A, class B>
  void put(const std::pair<A, B>& pair) {
    put(pair.first);
    put(pair.second);
  }

  [[nodiscard]] std::string take() { return std::move(bytes_); }

 private:
  std::string bytes_;
};

/// How many enumerators, from 0 on, an enum has that is part of a result: a file may hold any
/// number, and no other is read.
template <class Enum>
inline constexpr std::size_t kEnumerators = 0;

class PieceReader {
 public:
  /// @throws Error for what no result of this version is made of
  [[noreturn]] static void fail() {
    throw Error("not a result that this version of the program writes; run the command again");
  }

  explicit PieceReader(std::string_view bytes) : rest_(bytes) {}

  template <class T>
  void get(T& value) {
    if constexpr (HasPieceCodec<T>) {
      PieceCodec<T>::read(*this, value);
    } else if constexpr (std::is_enum_v<T>) {
      static_assert(kEnumerators<T> > 0, "say how many enumerators it has");
      value = static_cast<T>(number_below(kEnumerators<T>, get<std::underlying_type_t<T>>()));
    } else if constexpr (std::is_same_v<T, bool>) {
      value = number_below(2, get<unsigned char>()) == 1;
    } else if constexpr (kIsPlainValue<T>) {
      std::memcpy(&value, next(sizeof value).data(), sizeof value);
    } else {
      static_assert(sizeof(T) <= kLargestByFields, "give the struct a PieceCodec");
      boost::pfr::for_each_field(value, [this](auto& field) { this->get(field); });
    }
  }

  void get(std::string& text) { text = next(get<std::size_t>()); }

  template <class T>
  void get(std::optional<T>& value) {
    value.reset();
    if (get<bool>()) {
      get(value.emplace());
    }
  }

  template <class T>
  void get(std::vector<T>& list) {
    const auto size = get<std::size_t>();
    list.clear();
    for (std::size_t i = 0; i < size; ++i) {
      list.push_back(get<T>());
    }
  }

  template <class T, std::size_t N>
  void get(std::array<T, N>& list) {
    for (T& each : list) {
      get(each);
    }
  }

  template <class A, class B>
  void get(std::pair<A, B>& pair) {
    get(pair.first);
    get(pair.second);
  }

  template <class T>
  T get() {
    T value;  // every field is read
    get(value);
    return value;
  }

 private:
  template <class Number>
  static Number number_below(std::size_t limit, Number number) {
    if (static_cast<std::make_unsigned_t<Number>>(number) >= limit) {
      fail();
    }
    return number;
  }

  std::string_view next(std::size_t size) {
    if (size > rest_.size()) {
      fail();
    }
    const std::string_view taken = rest_.substr(0, size);
    rest_.remove_prefix(size);
    return taken;
  }

  std::string_view rest_;
};

template <class Result>
std::string to_bytes(const Result& result) {
  PieceWriter writer;
  writer.put(result);
  return writer.take();
}

template <class Result>
Result from_bytes(std::string_view bytes) {
  return PieceReader(bytes).get<Result>();
}

}  // namespace highwater
