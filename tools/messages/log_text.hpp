// A log as messages are looked for in it: without what stands in front of its lines.
//
// Several processes write into one log, each line behind a time, a level, a rank. What they wrote
// is put together by rank, so that a message that was wrapped is followed past the lines of others.
// A line without a rank goes on where the line before it was.
#pragma once

#include <cstddef>
#include <deque>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace highwater {

/// What stands in front of a line: "[rank3]: ", "2026-11-28 21:04:13,123 ERROR ", "(Worker pid=9)
/// ".
struct LinePrefix {
  std::size_t length = 0;
  std::string_view label;   ///< of the process, as it is written; empty: none
  std::optional<int> rank;  ///< if the label names one
};

LinePrefix prefix_of(std::string_view line);

/// A part of compact text; not empty.
struct CompactSpan {
  std::size_t begins = 0;
  std::size_t ends = 0;
};

/// What one process wrote, as compact text (message_pattern.hpp).
struct LogStream {
  struct Line {
    std::size_t begins = 0;  ///< in `compact`
    std::size_t number = 0;  ///< in the log, from 0
    std::optional<int> rank;
  };

  std::string compact;
  std::vector<Line> lines;

  using LineIterator = std::vector<Line>::const_iterator;

  /// The line that the character at `position` is of.
  [[nodiscard]] LineIterator line_at(std::size_t position) const;
};

class LogText {
 public:
  /// UTF-8, or UTF-16 with its mark, as PowerShell writes it.
  explicit LogText(std::string text);

  [[nodiscard]] const std::deque<LogStream>& streams() const { return streams_; }

  /// The lines of `stream` that have a part of `span`, as one, of no more than kLongestWords bytes.
  [[nodiscard]] std::string words(const LogStream& stream, CompactSpan span) const;

  static constexpr std::size_t kLongestWords = 1000;

 private:
  void add_lines();

  std::string text_;
  std::vector<std::string_view> lines_;
  std::deque<LogStream> streams_;
};

}  // namespace highwater
