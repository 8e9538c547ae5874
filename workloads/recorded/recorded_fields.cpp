#include "workloads/recorded/recorded_fields.hpp"

#include <algorithm>
#include <optional>
#include <utility>

#include <boost/json.hpp>
#include <fmt/format.h>

#include "workloads/facts/facts.hpp"
#include "workloads/recorded/recorded_words.hpp"
#include "workloads/recorded/unsupported.hpp"
#include "workloads/sources/rules/key_table.hpp"

namespace highwater::recorded {
namespace {

namespace json = boost::json;

JsonField field_facts() {
  return facts("recorded_case.json");
}

const KeyTable& field_table() {
  static const KeyTable table(field_facts(), {});
  return table;
}

/// The fields of `dist` are called after its kind: "ddp.world".
SettingList settings_of_case(const JsonField& root, const std::string& source) {
  const JsonField fields = root.at("case");
  const JsonField dist = fields.at("dist");
  json::object named = fields.object();
  named[dist.at("kind").view()] = dist.value();
  named.erase("dist");
  SettingList settings = settings_of(named, source);
  settings.add({.key = "model.family", .value = root.at("model").at("family").text()});
  return settings;
}

void require_known_kind(const JsonField& root) {
  const std::string kind = root.at("case").at("dist").at("kind").text();
  if (field_table().find(kind + ".kind") == nullptr) {
    throw Unsupported{fmt::format("distributed plans are not supported yet (dist.kind {})", kind)};
  }
}

/// '*' is any value, null is none, null or false.
bool has_value(const SettingList& settings, std::string_view key, const json::value& wanted) {
  const std::optional<std::string> text = settings.text(key);
  if (wanted.is_null()) {
    return !text || *text == "false";
  }
  const std::string_view value = wanted.as_string();
  return text && (value == "*" || *text == value);
}

bool counts(const JsonField& row, const SettingList& settings) {
  return std::ranges::all_of(row.at("when").object(), [&](const json::key_value_pair& condition) {
    return has_value(settings, condition.key(), condition.value());
  });
}

void set_word(OptionWords& words, std::string_view option, std::string text) {
  std::erase_if(words, [&](const OptionWord& word) { return word.first == option; });
  words.emplace_back(option, std::move(text));
}

/// The rows of "first" or "last".
void apply_rows(std::string_view which, const SettingList& settings, OptionWords& words) {
  for (const JsonField& row : field_facts().at(which).elements()) {
    if (!counts(row, settings)) {
      continue;
    }
    if (const auto why = row.find("refused")) {
      throw Unsupported{why->text()};
    }
    const JsonField options = row.at("options");
    for (const auto& [option, word] : options.object()) {
      set_word(words, option, options.at(option).text());
    }
  }
}

void apply_field(const Setting& setting, OptionWords& words) {
  const KeyRule* const rule = field_table().find(setting.key);
  if (rule == nullptr) {
    throw Unsupported{fmt::format("case.{} is not a known field", setting.key)};
  }
  if (rule->use != KeyRule::Use::option || setting.kind == SettingKind::null) {
    return;
  }
  const auto known = std::ranges::find(rule->words, setting.value, &ValueWord::value);
  set_word(words, rule->text,
           known == rule->words.end() ? setting.value : std::string(known->word));
}

}  // namespace

OptionWords words_of_fields(const JsonField& root, const std::string& source) {
  require_known_kind(root);
  const SettingList settings = settings_of_case(root, source);
  OptionWords words;
  apply_rows("first", settings, words);
  for (const Setting& setting : settings.list()) {
    apply_field(setting, words);
  }
  apply_rows("last", settings, words);
  return words;
}

}  // namespace highwater::recorded
