// A buffered cursor over a ByteSource that knows its absolute byte offset.
//
// The only place where the snapshot reader touches raw bytes. Everything it returns has been
// checked against the end of the input first; running out of input throws EndOfInput, which the
// caller turns into an error that also names the field being read. Numbers are little-endian
// except where the name says otherwise, as in a pickle.
#pragma once

#include <algorithm>
#include <bit>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "traces/formats/bytes/byte_source.hpp"

namespace highwater::detail {

/// The input ended where more bytes were needed. Never escapes the formats library.
struct EndOfInput {
  std::uint64_t offset;  ///< length of the input
};

class ByteReader {
 public:
  explicit ByteReader(ByteSource& source);

  /// Bytes consumed so far.
  [[nodiscard]] std::uint64_t offset() const {
    return base_ + static_cast<std::uint64_t>(cursor_ - buffer_.get());
  }

  [[nodiscard]] const std::string& source_name() const { return source_.name(); }

  std::uint8_t u8() {
    require(1);
    return std::to_integer<std::uint8_t>(*cursor_++);
  }

  /// @throws EndOfInput like every read here
  template <std::integral T>
  T little() {
    static_assert(std::endian::native == std::endian::little);
    require(sizeof(T));
    T value;
    std::memcpy(&value, cursor_, sizeof(T));
    cursor_ += sizeof(T);
    return value;
  }

  /// `n` (1 to 8) bytes of a two's complement number.
  std::int64_t signed_little(std::size_t n) {
    require(n);
    std::uint64_t value = 0;
    std::memcpy(&value, cursor_, n);
    cursor_ += n;
    const auto unused = static_cast<unsigned>(64 - 8 * n);
    return static_cast<std::int64_t>(value << unused) >> unused;
  }

  double big_endian_double();

  /// `n` bytes as text, valid until the next read. Memory grows only with bytes that arrive, so a
  /// false length costs nothing.
  std::string_view text(std::uint64_t n) {
    if (static_cast<std::uint64_t>(end_ - cursor_) < n) [[unlikely]] {
      return long_text(n);
    }
    return take(static_cast<std::size_t>(n));
  }

  /// The next `n` bytes, fewer only at the end of the input; consumes nothing.
  std::span<const std::byte> peek(std::size_t n);

 private:
  static constexpr std::size_t kBuffer = std::size_t{1} << 18;

  void require(std::size_t n) {
    if (static_cast<std::size_t>(end_ - cursor_) < n) [[unlikely]] {
      refill(n);
    }
  }

  std::string_view take(std::size_t n);
  std::string_view long_text(std::uint64_t n);
  void refill(std::size_t n);
  bool read_more();

  ByteSource& source_;
  std::unique_ptr<std::byte[]> buffer_;
  const std::byte* cursor_;
  const std::byte* end_;
  std::uint64_t base_ = 0;
  std::string scratch_;
};

}  // namespace highwater::detail
