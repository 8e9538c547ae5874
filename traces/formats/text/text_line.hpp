// One line of a text trace, taken apart from left to right; knows the column for messages.
#pragma once

#include <charconv>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

namespace highwater {

class TextLine {
 public:
  explicit TextLine(std::string_view text) : text_(text) {}

  /// The next word, empty at the end of the line.
  std::string_view word() {
    skip_blanks();
    word_ = position_;
    while (position_ < text_.size() && !is_blank(text_[position_])) {
      ++position_;
    }
    return text_.substr(word_, position_ - word_);
  }

  /// Everything after the blank that ends the last word, as it stands.
  std::string_view rest() {
    const std::size_t begin = position_ < text_.size() ? position_ + 1 : position_;
    word_ = begin;
    position_ = text_.size();
    return text_.substr(begin);
  }

  /// The column where the last word, or the rest, began: 1 for the first character of the line.
  [[nodiscard]] std::size_t column() const { return word_ + 1; }

 private:
  static bool is_blank(char c) { return c == ' ' || c == '\t'; }

  void skip_blanks() {
    while (position_ < text_.size() && is_blank(text_[position_])) {
      ++position_;
    }
  }

  std::string_view text_;
  std::size_t position_ = 0;
  std::size_t word_ = 0;
};

/// The number that all of `word` spells.
template <class Number>
std::optional<Number> parse_number(std::string_view word) {
  Number number{};
  const char* const end = word.data() + word.size();
  const auto parsed = std::from_chars(word.data(), end, number);
  if (parsed.ec != std::errc{} || parsed.ptr != end) {
    return std::nullopt;
  }
  return number;
}

}  // namespace highwater
