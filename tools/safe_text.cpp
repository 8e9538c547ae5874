#include "tools/safe_text.hpp"

#include <cstddef>
#include <cstdint>

#include <fmt/format.h>

namespace highwater {
namespace {

constexpr std::string_view kReplacement = "\xEF\xBF\xBD";  // U+FFFD

/// The character that a text begins with; `length` is 0 when its first byte begins none.
struct Character {
  std::uint32_t code = 0;
  std::size_t length = 0;
};

std::size_t encoded_length(unsigned char lead) {
  if (lead < 0x80) {
    return 1;
  }
  if (lead >= 0xC2 && lead < 0xE0) {
    return 2;
  }
  if (lead >= 0xE0 && lead < 0xF0) {
    return 3;
  }
  return lead >= 0xF0 && lead < 0xF5 ? 4 : 0;
}

/// Not too long for its value, no surrogate, within Unicode (RFC 3629).
bool is_well_formed(const Character& c) {
  const bool is_surrogate = c.code >= 0xD800 && c.code < 0xE000;
  const bool is_overlong = (c.length == 3 && c.code < 0x800) || (c.length == 4 && c.code < 0x10000);
  return !is_surrogate && !is_overlong && c.code <= 0x10FFFF;
}

Character first_character(std::string_view text) {
  const auto lead = static_cast<unsigned char>(text.front());
  Character c{lead, encoded_length(lead)};
  if (c.length <= 1) {
    return c;
  }
  if (c.length > text.size()) {
    return {};
  }
  c.code = lead & (0x7FU >> c.length);
  for (std::size_t i = 1; i < c.length; ++i) {
    const auto byte = static_cast<unsigned char>(text[i]);
    if ((byte & 0xC0U) != 0x80) {
      return {};
    }
    c.code = (c.code << 6U) | (byte & 0x3FU);
  }
  return is_well_formed(c) ? c : Character{};
}

/// C0, DEL and C1, which some terminals obey, too, and the controls of writing direction.
bool is_control(std::uint32_t code) {
  const bool is_bidi = (code >= 0x202A && code <= 0x202E) || (code >= 0x2066 && code <= 0x2069);
  return code < 0x20 || (code >= 0x7F && code < 0xA0) || is_bidi;
}

template <class Write>
std::string rewrite(std::string_view text, Write write) {
  std::string result;
  result.reserve(text.size());
  while (!text.empty()) {
    const Character c = first_character(text);
    if (c.length == 0) {
      result += kReplacement;
      text.remove_prefix(1);
    } else {
      write(result, c.code, text.substr(0, c.length));
      text.remove_prefix(c.length);
    }
  }
  return result;
}

}  // namespace

std::string printable(std::string_view text) {
  return rewrite(text, [](std::string& result, std::uint32_t code, std::string_view bytes) {
    if (is_control(code)) {
      result += fmt::format("\\x{:02X}", code);
    } else {
      result += bytes;
    }
  });
}

std::string valid_utf8(std::string_view text) {
  return rewrite(
      text, [](std::string& result, std::uint32_t, std::string_view bytes) { result += bytes; });
}

}  // namespace highwater
