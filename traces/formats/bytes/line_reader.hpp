// The lines of a byte source, without copying them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "traces/formats/bytes/byte_source.hpp"

namespace highwater {

class LineReader {
 public:
  /// A longer line is an error: the file is not a text trace, and reading on could exhaust memory.
  static constexpr std::size_t kLongestLine = std::size_t{16} << 20;

  explicit LineReader(ByteSource& source) : source_(&source) {}

  /// The next line without its end ("\n" or "\r\n"), valid until the next call; nothing at the end.
  std::optional<std::string_view> next();

  /// The same of the next line that is not empty. Passes over empty ones as fast as they are read.
  std::optional<std::string_view> next_filled();

  /// The number of the last line, from 1.
  [[nodiscard]] std::size_t number() const { return number_; }

  /// Bytes of all lines so far.
  [[nodiscard]] std::uint64_t bytes() const { return bytes_; }

 private:
  // Most lines are short and many files, too: an archive may hold a hundred thousand of a few
  // bytes.
  static constexpr std::size_t kFirstBlock = std::size_t{4} << 10;
  static constexpr std::size_t kBlock = std::size_t{1} << 20;

  [[nodiscard]] std::string_view unread() const { return {buffer_.data() + begin_, end_ - begin_}; }

  void skip_newlines();
  std::string_view take(std::size_t size, std::size_t terminator);
  bool fill();

  ByteSource* source_;
  std::vector<char> buffer_;
  std::size_t begin_ = 0;
  std::size_t end_ = 0;
  std::size_t number_ = 0;
  std::uint64_t bytes_ = 0;
};

}  // namespace highwater
