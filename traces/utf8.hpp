// UTF-8 (RFC 3629), one character at a time: text from files may hold any bytes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace highwater {

/// The first character of a text; `length` is 0 if the text does not start with a valid one.
struct Character {
  std::uint32_t code = 0;
  std::size_t length = 0;
};

/// `text` must not be empty.
Character first_character(std::string_view text);

/// The replacement for a byte that is not part of a valid character: U+FFFD.
inline constexpr std::string_view kReplacementCharacter = "\xEF\xBF\xBD";

/// `text` with every byte that is not part of a valid character replaced.
std::string valid_utf8(std::string_view text);

}  // namespace highwater
