#include "tools/text/safe_text.hpp"

#include <cstdint>

#include <fmt/format.h>

#include "traces/utf8.hpp"

namespace highwater {
namespace {

/// C0, DEL and C1, which some terminals obey, too, and the controls of writing direction.
bool is_control(std::uint32_t code) {
  const bool is_bidi = (code >= 0x202A && code <= 0x202E) || (code >= 0x2066 && code <= 0x2069);
  return code < 0x20 || (code >= 0x7F && code < 0xA0) || is_bidi;
}

}  // namespace

std::string printable(std::string_view text) {
  std::string result;
  result.reserve(text.size());
  while (!text.empty()) {
    const Character c = first_character(text);
    if (c.length == 0) {
      result += kReplacementCharacter;
    } else if (is_control(c.code)) {
      result += fmt::format("\\x{:02X}", c.code);
    } else {
      result += text.substr(0, c.length);
    }
    text.remove_prefix(c.length == 0 ? 1 : c.length);
  }
  return result;
}

}  // namespace highwater
