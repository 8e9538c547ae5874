#include "workloads/recorded/recorded_words.hpp"

#include <algorithm>
#include <iterator>
#include <optional>

#include <boost/json.hpp>

#include "workloads/plan/options/read_plan.hpp"
#include "workloads/recorded/recorded_fields.hpp"
#include "workloads/recorded/unsupported.hpp"
#include "workloads/sources/settings/read_settings.hpp"

namespace highwater::recorded {
namespace {

OptionWord word_of_setting(const Setting& setting) {
  if (setting.key != "rank" && find_option(setting.key) == nullptr) {
    throw Unsupported{unknown_option(setting.key)};
  }
  return {setting.key, setting.kind == SettingKind::null ? option_text(nullptr) : setting.value};
}

}  // namespace

SettingList settings_of(const boost::json::object& object, const std::string& source) {
  return read_json_settings(boost::json::serialize(object), source);
}

OptionWords words_of_case(const JsonField& root, const std::string& source) {
  const std::optional<JsonField> options = root.at("case").find("options");
  if (!options) {
    return words_of_fields(root, source);
  }
  const SettingList settings = settings_of(options->object(), source);
  OptionWords words;
  std::ranges::transform(settings.list(), std::back_inserter(words), word_of_setting);
  return words;
}

}  // namespace highwater::recorded
