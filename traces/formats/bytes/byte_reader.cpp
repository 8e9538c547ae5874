#include "traces/formats/bytes/byte_reader.hpp"

namespace highwater::detail {

ByteReader::ByteReader(ByteSource& source)
    : source_(source),
      buffer_(std::make_unique_for_overwrite<std::byte[]>(kBuffer)),
      cursor_(buffer_.get()),
      end_(buffer_.get()) {}

double ByteReader::big_endian_double() {
  return std::bit_cast<double>(__builtin_bswap64(little<std::uint64_t>()));
}

std::string_view ByteReader::take(std::size_t n) {
  const std::string_view text(reinterpret_cast<const char*>(cursor_), n);
  cursor_ += n;
  return text;
}

std::string_view ByteReader::long_text(std::uint64_t n) {
  scratch_.clear();
  while (scratch_.size() < n) {
    require(1);
    const auto available = static_cast<std::uint64_t>(end_ - cursor_);
    scratch_ += take(static_cast<std::size_t>(std::min(available, n - scratch_.size())));
  }
  return scratch_;
}

std::span<const std::byte> ByteReader::peek(std::size_t n) {
  while (static_cast<std::size_t>(end_ - cursor_) < n && read_more()) {
  }
  return {cursor_, std::min(n, static_cast<std::size_t>(end_ - cursor_))};
}

void ByteReader::refill(std::size_t n) {
  while (static_cast<std::size_t>(end_ - cursor_) < n) {
    if (!read_more()) {
      throw EndOfInput{offset() + static_cast<std::uint64_t>(end_ - cursor_)};
    }
  }
}

// Moves the few unread bytes to the front and appends new ones.
bool ByteReader::read_more() {
  const auto rest = static_cast<std::size_t>(end_ - cursor_);
  base_ = offset();
  std::memmove(buffer_.get(), cursor_, rest);
  cursor_ = buffer_.get();
  end_ = cursor_ + rest;
  const std::size_t n = source_.read({buffer_.get() + rest, kBuffer - rest});
  end_ += n;
  return n > 0;
}

}  // namespace highwater::detail
