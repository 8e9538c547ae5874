#include "traces/formats/pickle/pickle_writer.hpp"

#include <bit>
#include <limits>
#include <string>

#include "traces/error.hpp"
#include "traces/utf8.hpp"

namespace highwater::detail {
namespace {

constexpr std::uint64_t kMaxByte = 0xff;
constexpr std::size_t kBatch = 1000;

/// The fewest bytes of two's complement that hold `value` and its sign.
std::size_t signed_length(std::int64_t value) {
  const auto magnitude = static_cast<std::uint64_t>(value < 0 ? ~value : value);
  return static_cast<std::size_t>(std::bit_width(magnitude)) / 8 + 1;
}

}  // namespace

PickleWriter::PickleWriter(ByteSink& sink) : sink_(&sink) {
  put(PickleOpcode::proto);
  put_little_endian(4, 1);
}

void PickleWriter::put_little_endian(std::uint64_t value, std::size_t bytes) {
  for (std::size_t i = 0; i < bytes; ++i) {
    out_.push_back(static_cast<std::byte>(value >> (8 * i) & kMaxByte));
  }
}

void PickleWriter::integer(std::int64_t value) {
  const auto bits = static_cast<std::uint64_t>(value);
  if (value >= 0 && value <= 0xff) {
    put(PickleOpcode::bin_int1);
    put_little_endian(bits, 1);
  } else if (value >= 0 && value <= 0xffff) {
    put(PickleOpcode::bin_int2);
    put_little_endian(bits, 2);
  } else if (value >= std::numeric_limits<std::int32_t>::min() &&
             value <= std::numeric_limits<std::int32_t>::max()) {
    put(PickleOpcode::bin_int);
    put_little_endian(bits, 4);
  } else {
    const std::size_t length = signed_length(value);
    put(PickleOpcode::long1);
    put_little_endian(length, 1);
    put_little_endian(bits, length);
  }
}

void PickleWriter::natural(std::uint64_t value) {
  if (value <= static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max())) {
    integer(static_cast<std::int64_t>(value));
    return;
  }
  put(PickleOpcode::long1);
  put_little_endian(sizeof value + 1, 1);
  put_little_endian(value, sizeof value);
  put_little_endian(0, 1);  // the sign
}

void PickleWriter::real(double value) {
  const auto bits = std::bit_cast<std::uint64_t>(value);
  put(PickleOpcode::bin_float);
  for (int shift = 56; shift >= 0; shift -= 8) {  // big-endian, unlike everything else
    out_.push_back(static_cast<std::byte>(bits >> shift & kMaxByte));
  }
}

void PickleWriter::boolean(bool value) {
  put(value ? PickleOpcode::new_true : PickleOpcode::new_false);
}

void PickleWriter::text(std::string_view value) {
  const std::string valid = valid_utf8(value);
  if (valid.size() <= kMaxByte) {
    put(PickleOpcode::short_bin_unicode);
    put_little_endian(valid.size(), 1);
  } else if (valid.size() <= std::numeric_limits<std::uint32_t>::max()) {
    put(PickleOpcode::bin_unicode);
    put_little_endian(valid.size(), 4);
  } else {
    throw Error(sink_->name() + ": a string of more than 4 GiB cannot be written; shorten it");
  }
  const auto bytes = std::as_bytes(std::span(valid));
  out_.insert(out_.end(), bytes.begin(), bytes.end());
}

MemoIndex PickleWriter::memoize() {
  put(PickleOpcode::memoize);
  return next_memo_++;
}

void PickleWriter::repeat(MemoIndex value) {
  const bool is_short = value <= kMaxByte;
  put(is_short ? PickleOpcode::bin_get : PickleOpcode::long_bin_get);
  put_little_endian(value, is_short ? 1 : 4);
}

void PickleWriter::finish() {
  put(PickleOpcode::stop);
  flush();
}

void PickleWriter::flush() {
  sink_->write(out_);
  out_.clear();
}

void PickleBatches::next() {
  if (in_batch_ == kBatch) {
    finish();
  }
  if (in_batch_++ == 0) {
    out_->put(PickleOpcode::mark);
  }
}

void PickleBatches::finish() {
  if (in_batch_ != 0) {
    out_->put(add_);
  }
  in_batch_ = 0;
}

}  // namespace highwater::detail
