#include "workloads/sources/rules/key_rule.hpp"

#include <algorithm>
#include <optional>
#include <span>
#include <utility>

#include <fmt/format.h>

#include "traces/error.hpp"
#include "workloads/plan/options/file_words.hpp"
#include "workloads/plan/options/read_plan.hpp"

namespace highwater {
namespace {

bool is_off(const Setting& setting, std::span<const std::string_view> off) {
  const bool says_nothing = setting.kind == SettingKind::null ||
                            (setting.kind == SettingKind::boolean && setting.value == "false") ||
                            (setting.kind == SettingKind::list && setting.items.empty()) ||
                            setting.value.empty();
  return says_nothing || std::ranges::any_of(off, [&](std::string_view value) {
           return is_same_key(value, setting.value);
         });
}

/// A file of a model's configuration that is not there says so in its own words.
Complaint complaint_of(std::string_view option, const std::string& word) {
  if (Complaint complaint = complaint_about_file_word({std::string(option), word})) {
    return complaint;
  }
  try {
    return complaint_about(option, word);
  } catch (const InputError& error) {
    return error.what();
  }
}

void apply_option(const KeyRule& rule, const Setting& setting, SourceKeys& keys) {
  if (setting.kind == SettingKind::null) {
    keys.add_no_effect(setting.key, setting.value, "left to the default");
    return;
  }
  const auto known = std::ranges::find_if(
      rule.words, [&](const ValueWord& row) { return is_same_key(row.value, setting.value); });
  const bool is_known = known != rule.words.end();
  if (is_known && known->word.empty()) {
    keys.add_no_effect(setting.key, setting.value, "the default here as well");
  } else {
    offer(setting, rule.text, is_known ? std::string(known->word) : setting.value, keys);
  }
}

void apply_unsupported(const KeyRule& rule, const Setting& setting, SourceKeys& keys) {
  if (is_off(setting, rule.off)) {
    keys.add_no_effect(setting.key, setting.value, "off, as it is here");
  } else {
    keys.add_not_supported(setting.key, setting.value, std::string(rule.text), rule.lacks,
                           rule.sign);
  }
}

}  // namespace

void offer(const Setting& setting, std::string_view option, std::string word, SourceKeys& keys) {
  const Complaint complaint =
      find_option(option) == nullptr ? std::nullopt : complaint_of(option, word);
  if (complaint) {
    keys.add_not_supported(
        setting.key, setting.value,
        word == setting.value ? *complaint : fmt::format("--{} {}: {}", option, word, *complaint),
        option);
  } else {
    keys.use(setting.key, setting.value, option, std::move(word));
  }
}

void apply_rule(const KeyRule& rule, const Setting& setting, const SettingList& all,
                SourceKeys& keys) {
  switch (rule.use) {
    case KeyRule::Use::option:
      apply_option(rule, setting, keys);
      return;
    case KeyRule::Use::no_effect:
      keys.add_no_effect(setting.key, setting.value, std::string(rule.text));
      return;
    case KeyRule::Use::not_supported:
      apply_unsupported(rule, setting, keys);
      return;
    case KeyRule::Use::context:
      rule.read(setting, all, keys);
      return;
  }
}

}  // namespace highwater
