// Text in Markdown that stays text: a name from a file is never taken for a tag.
#pragma once

#include <string>
#include <string_view>

namespace highwater {

/// A backslash before '<', before a backslash and before each of `marks`, which CommonMark then
/// shows as they are.
inline std::string markdown_text(std::string_view text, std::string_view marks = {}) {
  std::string result;
  for (const char c : text) {
    if (c == '<' || c == '\\' || marks.find(c) != std::string_view::npos) {
      result += '\\';
    }
    result += c;
  }
  return result;
}

}  // namespace highwater
