// UTF-8 (RFC 3629), one character at a time: text from files may hold any bytes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace highwater {

/// The character that a text begins with; `length` is 0 when its first byte begins none.
struct Character {
  std::uint32_t code = 0;
  std::size_t length = 0;
};

/// `text` must not be empty.
Character first_character(std::string_view text);

/// What stands for a byte that belongs to no character: U+FFFD.
inline constexpr std::string_view kReplacementCharacter = "\xEF\xBF\xBD";

/// `text` with every byte that belongs to no character replaced.
std::string valid_utf8(std::string_view text);

}  // namespace highwater
