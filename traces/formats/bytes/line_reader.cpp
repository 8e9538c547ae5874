#include "traces/formats/bytes/line_reader.hpp"

#include <algorithm>
#include <span>

#include <fmt/format.h>

#include "traces/error.hpp"

namespace highwater {

std::optional<std::string_view> LineReader::next() {
  std::size_t searched = 0;
  for (;;) {
    const std::size_t newline = unread().find('\n', searched);
    if (newline != std::string_view::npos) {
      return take(newline, 1);
    }
    searched = end_ - begin_;
    if (!fill()) {
      return searched == 0 ? std::nullopt : std::optional(take(searched, 0));
    }
  }
}

std::optional<std::string_view> LineReader::next_filled() {
  for (;;) {
    skip_newlines();
    const std::optional<std::string_view> line = next();
    if (!line || !line->empty()) {
      return line;
    }
  }
}

void LineReader::skip_newlines() {
  const std::size_t count = std::min(unread().find_first_not_of('\n'), end_ - begin_);
  begin_ += count;
  bytes_ += count;
  number_ += count;
}

std::string_view LineReader::take(std::size_t size, std::size_t terminator) {
  std::string_view line = unread().substr(0, size);
  begin_ += size + terminator;
  bytes_ += size + terminator;
  ++number_;
  if (line.ends_with('\r')) {
    line.remove_suffix(1);
  }
  return line;
}

/// Moves the unfinished line to the front and reads more after it.
bool LineReader::fill() {
  const auto at = [this](std::size_t i) { return buffer_.begin() + static_cast<long>(i); };
  std::copy(at(begin_), at(end_), buffer_.begin());
  end_ -= begin_;
  begin_ = 0;
  if (end_ > kLongestLine) {
    throw InputError(source_->name(), fmt::format("line {}", number_ + 1),
                     "longer than 16 MiB, so this is not a text file", "check the file name");
  }
  if (end_ == buffer_.size() || buffer_.size() < kBlock) {
    buffer_.resize(std::max(kFirstBlock, 2 * buffer_.size()));
  }
  const std::size_t n = source_->read(std::as_writable_bytes(std::span(buffer_)).subspan(end_));
  end_ += n;
  return n != 0;
}

}  // namespace highwater
