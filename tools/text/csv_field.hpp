// One field of a CSV file: quoted where RFC 4180 asks for it, and text even for a spreadsheet.
#pragma once

#include <algorithm>
#include <cctype>
#include <charconv>
#include <string>
#include <string_view>
#include <system_error>

namespace highwater {

/// Whether a spreadsheet would take `text`, which a file may have named, for a formula. A number
/// with a sign and perhaps a unit is none.
inline bool looks_like_formula(std::string_view text) {
  if (text.size() < 2 ||
      std::string_view("=+-@\t\r").find(text.front()) == std::string_view::npos) {
    return false;
  }
  double number = 0;
  const char* const end = text.data() + text.size();
  const char* const digits = text.data() + (text.front() == '+' ? 1 : 0);
  const auto parsed = std::from_chars(digits, end, number);
  const auto is_unit = [](char c) {
    return c == ' ' || c == '%' || std::isalpha(static_cast<unsigned char>(c)) != 0;
  };
  return parsed.ec != std::errc{} || !std::all_of(parsed.ptr, end, is_unit);
}

/// A formula gets an apostrophe in front, which spreadsheets take as "this is text".
inline std::string csv_field(const std::string& field) {
  const std::string text = looks_like_formula(field) ? "'" + field : field;
  if (text.find_first_of(",\"\n\r") == std::string::npos) {
    return text;
  }
  std::string quoted = "\"";
  for (const char c : text) {
    quoted += c;
    if (c == '"') {
      quoted += c;
    }
  }
  return quoted + "\"";
}

}  // namespace highwater
