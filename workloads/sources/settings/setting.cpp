#include "workloads/sources/settings/setting.hpp"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <utility>

#include "workloads/sources/settings/key_pattern.hpp"

namespace highwater {
namespace {

char in_common(char c) {
  return c == '-' ? '_' : static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
}

}  // namespace

bool is_same_key(std::string_view a, std::string_view b) {
  return std::ranges::equal(a, b, {}, in_common, in_common);
}

std::string common_key(std::string_view key) {
  std::string common(key);
  std::ranges::transform(common, common.begin(), in_common);
  return common;
}

void SettingList::add(Setting setting) {
  if (!setting.is_replaced) {
    places_[common_key(setting.key)].push_back(list_.size());
  }
  list_.push_back(std::move(setting));
  found_like_.clear();
}

void SettingList::replace_value(std::size_t at, std::string value, SettingKind kind) {
  list_[at].value = std::move(value);
  list_[at].kind = kind;
  found_like_.clear();
}

const Setting* SettingList::find(std::string_view key) const {
  const auto found = places_.find(common_key(key));
  return found == places_.end() ? nullptr : &list_[found->second.back()];
}

const Setting* SettingList::first_like(std::string_view pattern) const {
  const auto [known, is_new] = found_like_.try_emplace(std::string(pattern), 0);
  if (is_new) {
    known->second = place_like(pattern);
  }
  return known->second == list_.size() ? nullptr : &list_[known->second];
}

bool SettingList::has_like(std::string_view pattern) const {
  const KeyPattern wanted(pattern);
  return std::ranges::any_of(list_, [&](const Setting& setting) {
    return wanted.matches_common(common_key(setting.key));
  });
}

/// list_.size() if there is none.
std::size_t SettingList::place_like(std::string_view pattern) const {
  const auto says_something = [&](std::size_t at) { return list_[at].kind != SettingKind::null; };
  if (pattern.find('*') == std::string_view::npos) {
    const auto found = places_.find(common_key(pattern));
    if (found == places_.end()) {
      return list_.size();
    }
    const auto place = std::ranges::find_if(found->second, says_something);
    return place == found->second.end() ? list_.size() : *place;
  }
  const KeyPattern wanted(pattern);
  for (std::size_t at = 0; at < list_.size(); ++at) {
    if (!list_[at].is_replaced && says_something(at) &&
        wanted.matches_common(common_key(list_[at].key))) {
      return at;
    }
  }
  return list_.size();
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
