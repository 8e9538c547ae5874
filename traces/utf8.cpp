#include "traces/utf8.hpp"

namespace highwater {
namespace {

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

/// Not an overlong encoding, not a surrogate, within Unicode (RFC 3629).
bool is_well_formed(const Character& c) {
  const bool is_surrogate = c.code >= 0xD800 && c.code < 0xE000;
  const bool is_overlong = (c.length == 3 && c.code < 0x800) || (c.length == 4 && c.code < 0x10000);
  return !is_surrogate && !is_overlong && c.code <= 0x10FFFF;
}

}  // namespace

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

std::string valid_utf8(std::string_view text) {
  std::string result;
  result.reserve(text.size());
  while (!text.empty()) {
    const std::size_t length = first_character(text).length;
    result += length == 0 ? kReplacementCharacter : text.substr(0, length);
    text.remove_prefix(length == 0 ? 1 : length);
  }
  return result;
}

}  // namespace highwater
