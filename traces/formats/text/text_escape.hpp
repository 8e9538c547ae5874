// Escapes in text traces, for characters that would end a word or a line.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace highwater {

/// The position of a name decides what must be escaped in it.
enum class TextPlace : std::uint8_t {
  word,  ///< up to the next space
  rest,  ///< up to the end of the line, or to a tab
};

/// `\\ \n \r \t` in both places; in a word also `\s` for a space and `\e` for the empty word.
std::string escaped(std::string_view text, TextPlace place);

/// The reverse, for both places. A backslash before any other character stands for itself.
std::string unescaped(std::string_view text);

}  // namespace highwater
