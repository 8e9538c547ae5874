#include "workloads/plan/sources/settings/setting.hpp"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <ranges>

namespace highwater {
namespace {

char in_common(char c) {
  return c == '-' ? '_' : static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
}

}  // namespace

bool is_same_key(std::string_view a, std::string_view b) {
  return std::ranges::equal(a, b, {}, in_common, in_common);
}

const Setting* SettingList::find(std::string_view key) const {
  const auto reversed = std::views::reverse(list_);
  const auto found = std::ranges::find_if(
      reversed, [&](const Setting& setting) { return is_same_key(setting.key, key); });
  return found == reversed.end() ? nullptr : &*found;
}

std::optional<std::string> SettingList::text(std::string_view key) const {
  const Setting* const setting = find(key);
  return setting == nullptr || setting->kind == SettingKind::null ? std::nullopt
                                                                  : std::optional(setting->value);
}

std::optional<std::int64_t> SettingList::whole(std::string_view key) const {
  const std::string digits = text(key).value_or("");
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
  const bool is_whole = error == std::errc{} && end == digits.data() + digits.size();
  return is_whole ? std::optional(value) : std::nullopt;
}

bool SettingList::is_on(std::string_view key) const {
  const Setting* const setting = find(key);
  return setting != nullptr && setting->kind == SettingKind::boolean && setting->value == "true";
}

}  // namespace highwater
