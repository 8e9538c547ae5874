#include "tests/support/pickle_builder.hpp"

#include <algorithm>
#include <bit>
#include <cstring>
#include <limits>
#include <map>

namespace highwater::test {
namespace {

class Writer {
 public:
  explicit Writer(Dialect dialect) : dialect_(dialect) {}

  void write(const PyValue& value) {
    std::visit([&](const auto& content) { put(value, content); }, value.content());
  }

  void byte(unsigned value) { bytes_.push_back(static_cast<std::byte>(value)); }

  template <class T>
  void little(T value) {
    for (std::size_t i = 0; i < sizeof(T); ++i) {
      byte(static_cast<unsigned>((static_cast<std::uint64_t>(value) >> (8 * i)) & 0xff));
    }
  }

  Bytestring take() { return std::move(bytes_); }

 private:
  void put(const PyValue& /*value*/, std::monostate /*none*/) { byte('N'); }

  void put(const PyValue& /*value*/, bool truth) { byte(truth ? 0x88 : 0x89); }

  void put(const PyValue& /*value*/, std::int64_t number) {
    if (number >= 0 && number <= 0xff) {
      byte('K');
      byte(static_cast<unsigned>(number));
    } else if (number >= 0 && number <= 0xffff) {
      byte('M');
      little(static_cast<std::uint16_t>(number));
    } else if (number == static_cast<std::int32_t>(number)) {
      byte('J');
      little(static_cast<std::int32_t>(number));
    } else {
      long1(number);
    }
  }

  void long1(std::int64_t number) {
    unsigned n = 8;
    while (dialect_ == Dialect::python && n > 1 && number >> (8 * (n - 1) - 1) == number >> 63) {
      --n;
    }
    byte(0x8a);
    byte(n);
    for (unsigned i = 0; i < n; ++i) {
      byte(static_cast<unsigned>((static_cast<std::uint64_t>(number) >> (8 * i)) & 0xff));
    }
  }

  void put(const PyValue& /*value*/, std::uint64_t number) {
    if (dialect_ == Dialect::cpp) {  // C++ stores all integers as int64_t
      long1(static_cast<std::int64_t>(number));
      return;
    }
    byte(0x8a);
    byte(9);
    little(number);
    byte(0);
  }

  void put(const PyValue& /*value*/, double number) {
    byte('G');
    little(__builtin_bswap64(std::bit_cast<std::uint64_t>(number)));
  }

  void put(const PyValue& /*value*/, const std::string& text) {
    const auto [at, is_new] = texts_.emplace(text, memo_size_);
    if (!is_new) {
      return get(at->second);
    }
    if (dialect_ == Dialect::python && text.size() < 256) {
      byte(0x8c);
      byte(static_cast<unsigned>(text.size()));
    } else {
      byte('X');
      little(static_cast<std::uint32_t>(text.size()));
    }
    std::ranges::transform(text, std::back_inserter(bytes_),
                           [](char c) { return static_cast<std::byte>(c); });
    memoize();
  }

  void put(const PyValue& value, const PyValue::List& items) {
    if (fetch(value)) {
      return;
    }
    byte(']');
    memoize_container(value);
    batches(items, 'a', 'e', [&](const PyValue& item) { write(item); });
  }

  void put(const PyValue& value, const PyValue::Dict& items) {
    if (fetch(value)) {
      return;
    }
    byte('}');
    memoize_container(value);
    batches(items, 's', 'u', [&](const auto& item) {
      write(item.first);
      write(item.second);
    });
  }

  void put(const PyValue& value, const PyValue::Tuple& tuple) {
    if (fetch(value)) {
      return;
    }
    const std::size_t n = tuple.items.size();
    if (n > 3) {
      byte('(');
    }
    for (const PyValue& item : tuple.items) {
      write(item);
    }
    byte(n == 0 ? ')' : n > 3 ? 't' : 0x84 + static_cast<unsigned>(n));
    memoize_container(value);
  }

  template <class Items, class Write>
  void batches(const Items& items, char one, char many, Write write_item) {
    const std::size_t batch = dialect_ == Dialect::python ? 1000 : ~std::size_t{0};
    for (std::size_t i = 0; i < items.size() || (i == 0 && dialect_ == Dialect::cpp);) {
      const std::size_t n = std::min(batch, items.size() - i);
      const bool is_single = n == 1 && dialect_ == Dialect::python;
      if (!is_single) {
        byte('(');
      }
      std::for_each_n(items.begin() + static_cast<std::ptrdiff_t>(i), n, write_item);
      byte(static_cast<unsigned char>(is_single ? one : many));
      i += std::max<std::size_t>(n, 1);
    }
  }

  bool fetch(const PyValue& value) {
    const auto at = containers_.find(value.identity());
    if (at == containers_.end()) {
      return false;
    }
    get(at->second);
    return true;
  }

  void memoize_container(const PyValue& value) {
    if (dialect_ == Dialect::python) {
      containers_.emplace(value.identity(), memo_size_);
      memoize();
    }
  }

  void memoize() {
    if (dialect_ == Dialect::python) {
      byte(0x94);
    } else if (memo_size_ < 256) {
      byte('q');
      byte(static_cast<unsigned>(memo_size_));
    } else {
      byte('r');
      little(static_cast<std::uint32_t>(memo_size_));
    }
    ++memo_size_;
  }

  void get(std::size_t slot) {
    if (slot < 256) {
      byte('h');
      byte(static_cast<unsigned>(slot));
    } else {
      byte('j');
      little(static_cast<std::uint32_t>(slot));
    }
  }

  Dialect dialect_;
  Bytestring bytes_;
  std::size_t memo_size_ = 0;
  std::map<std::string, std::size_t> texts_;
  std::map<const void*, std::size_t> containers_;
};

PyValue::Dict dict_of(const PyValue& value) {
  return std::get<PyValue::Dict>(value.content());
}

}  // namespace

PyValue PyValue::with(const std::string& key, PyValue value) const {
  Dict items = dict_of(*this);
  const auto at = std::ranges::find(items, key, [](const auto& item) { return item.first; });
  if (at == items.end()) {
    items.emplace_back(key, std::move(value));
  } else {
    at->second = std::move(value);
  }
  return dict(std::move(items));
}

PyValue PyValue::without(const std::string& key) const {
  Dict items = dict_of(*this);
  std::erase_if(items, [&](const auto& item) { return item.first == key; });
  return dict(std::move(items));
}

Bytestring write_pickle(const PyValue& value, Dialect dialect) {
  Writer body(dialect);
  body.write(value);
  body.byte('.');
  const Bytestring payload = body.take();

  Writer file(dialect);
  file.byte(0x80);
  file.byte(dialect == Dialect::python ? 4 : 2);
  if (dialect == Dialect::python) {
    file.byte(0x95);
    file.little(std::uint64_t{payload.size()});
  }
  Bytestring bytes = file.take();
  bytes.insert(bytes.end(), payload.begin(), payload.end());
  return bytes;
}

Bytestring raw(std::initializer_list<int> bytes) {
  Bytestring result;
  std::ranges::transform(bytes, std::back_inserter(result),
                         [](int b) { return static_cast<std::byte>(b); });
  return result;
}

Bytestring raw(const std::string& text) {
  Bytestring result;
  std::ranges::transform(text, std::back_inserter(result),
                         [](char c) { return static_cast<std::byte>(c); });
  return result;
}

}  // namespace highwater::test
