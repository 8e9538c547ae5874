#include "traces/formats/text/text_fields.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "traces/error.hpp"

namespace highwater {

bool TextFields::next_line() {
  while (const auto text = lines_.next_filled()) {
    line_ = TextLine(*text);
    const std::string_view keyword = line_.word();
    if (keyword.empty() || keyword.front() == '#') {
      continue;
    }
    row_ = find_keyword(keyword);
    if (row_ == nullptr) {
      fail(fmt::format("'{}' does not start a line of a trace", shown(keyword)),
           "start each line with a, f, r, e, E, c, p, pool_begin, conf, step, ...");
    }
    return true;
  }
  if (row_ == nullptr) {
    throw InputError(source_.name(), "", "contains no trace", "check the file name");
  }
  return false;
}

std::string_view TextFields::word_as(std::string_view what) {
  const std::string_view word = line_.word();
  require(!word.empty(), what);
  return word;
}

std::uint64_t TextFields::number(std::string_view what) {
  const auto value = parse_number<std::uint64_t>(line_.word());
  require(value.has_value(), what);
  return *value;
}

std::string TextFields::shown(std::string_view word) {
  constexpr std::size_t kMost = 40;
  std::string text(word.substr(0, kMost));
  std::ranges::replace_if(
      text, [](char c) { return (c >= 0 && c < ' ') || c == '\x7f'; }, '?');
  return word.size() > kMost ? text + "..." : text;
}

void TextFields::fail(std::string_view problem, std::string_view remedy) const {
  throw InputError(source_.name(),
                   fmt::format("line {}, column {}", lines_.number(), line_.column()), problem,
                   remedy);
}

void TextFields::fail_expected(std::string_view what) const {
  fail(fmt::format("expected {}", what), fmt::format("write '{}'", row_->usage));
}

}  // namespace highwater
