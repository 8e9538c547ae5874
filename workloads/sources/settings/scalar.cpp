#include "workloads/sources/settings/scalar.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <span>
#include <string_view>

namespace highwater {
namespace {

bool is_number(const std::string& text) {
  double value = 0;
  const char* const begin = text.data() + (text.starts_with('+') ? 1 : 0);
  const char* const end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(begin, end, value);
  return error == std::errc{} && stop == end && begin != end;
}

/// YAML 1.1 (yaml.org/type/bool.html, as PyYAML 6 resolver.py has it), and Python's own words.
bool is_one_of(std::string_view text, std::span<const std::string_view> words) {
  return std::ranges::find(words, text) != words.end();
}

constexpr std::array<std::string_view, 9> kTrue{"true", "True", "TRUE", "yes", "Yes",
                                                "YES",  "on",   "On",   "ON"};
constexpr std::array<std::string_view, 9> kFalse{"false", "False", "FALSE", "no", "No",
                                                 "NO",    "off",   "Off",   "OFF"};
constexpr std::array<std::string_view, 6> kNull{"", "~", "null", "Null", "NULL", "None"};

}  // namespace

Setting typed_scalar(const std::string& text) {
  if (is_one_of(text, kNull)) {
    return {{}, "null", SettingKind::null};
  }
  if (is_one_of(text, kTrue)) {
    return {{}, "true", SettingKind::boolean};
  }
  if (is_one_of(text, kFalse)) {
    return {{}, "false", SettingKind::boolean};
  }
  return {{}, text, is_number(text) ? SettingKind::number : SettingKind::text};
}

}  // namespace highwater
