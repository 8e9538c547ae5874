// The lines of a text trace as typed fields, with messages that name line and column.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "traces/formats/bytes/byte_source.hpp"
#include "traces/formats/bytes/line_reader.hpp"
#include "traces/formats/text/text_keywords.hpp"
#include "traces/formats/text/text_line.hpp"

namespace highwater {

class TextFields {
 public:
  explicit TextFields(ByteSource& source) : source_(source), lines_(source) {}

  /// Moves to the next line that is not a comment; false at the end.
  bool next_line();

  [[nodiscard]] const KeywordRow& row() const { return *row_; }

  [[nodiscard]] std::uint64_t bytes_read() const { return lines_.bytes(); }

  std::string_view word() { return line_.word(); }

  std::string_view rest() { return line_.rest(); }

  /// The next word, which must not be missing.
  std::string_view word_as(std::string_view what);

  std::uint64_t number(std::string_view what);

  void expect_end() { require(line_.word().empty(), "the end of the line"); }

  /// Throws "expected `what`" at the last word, with the usage of the line.
  void require(bool condition, std::string_view what) {
    if (!condition) {
      fail_expected(what);
    }
  }

  [[noreturn]] void fail(std::string_view problem, std::string_view remedy) const;

  /// The input as a message quotes it: printable and shortened.
  static std::string shown(std::string_view word);

 private:
  [[noreturn]] void fail_expected(std::string_view what) const;

  ByteSource& source_;
  LineReader lines_;
  TextLine line_{""};
  const KeywordRow* row_ = nullptr;
};

}  // namespace highwater
