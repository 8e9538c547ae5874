#include "workloads/sources/programs/hugging_face/settings_facts.hpp"

#include <array>
#include <charconv>
#include <cmath>

#include "workloads/sources/rules/key_rule.hpp"

namespace highwater::program_table {

const Setting* first_like(const SettingList& all, std::string_view pattern) {
  return all.first_like(pattern);
}

bool says_no(const Setting& setting) {
  constexpr std::array<std::string_view, 8> kNo{"",   "false", "0",  "0.0",
                                                "no", "none",  "{}", "null"};
  const bool is_word_for_no = std::ranges::any_of(
      kNo, [&](std::string_view word) { return is_same_key(word, setting.value); });
  return setting.kind == SettingKind::null || is_word_for_no;
}

bool is_any_on(const SettingList& all, std::initializer_list<std::string_view> patterns) {
  return std::ranges::any_of(patterns, [&](std::string_view pattern) {
    const Setting* const setting = first_like(all, pattern);
    return setting != nullptr && !says_no(*setting);
  });
}

std::optional<std::string> text_of(const SettingList& all,
                                   std::initializer_list<std::string_view> patterns) {
  for (const std::string_view pattern : patterns) {
    if (const Setting* const setting = first_like(all, pattern)) {
      return setting->value;
    }
  }
  return std::nullopt;
}

std::optional<long long> whole_number(std::string_view text) {
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  const bool is_whole = error == std::errc{} && end == text.data() + text.size() &&
                        std::abs(value) < 1e18 && std::trunc(value) == value;
  return is_whole ? std::optional(static_cast<long long>(value)) : std::nullopt;
}

bool is_left_to_reader(std::string_view text) {
  return text.find('$') != std::string_view::npos || text.starts_with('<') || text == "..." ||
         text.find("path_to") != std::string_view::npos;
}

void note_off(const Setting& setting, SourceKeys& keys) {
  keys.add_no_effect(setting.key, setting.value, "off, as it is here");
}

void offer_whole(const Setting& setting, std::string_view option, SourceKeys& keys) {
  if (setting.kind == SettingKind::null || setting.value == "auto") {
    keys.add_no_effect(setting.key, setting.value, "left to the default");
    return;
  }
  const auto number = whole_number(setting.value);
  offer(setting, option, number ? std::to_string(*number) : setting.value, keys);
}

}  // namespace highwater::program_table
