#include <algorithm>
#include <utility>

#include <boost/json.hpp>
#include <fmt/format.h>

#include "traces/error.hpp"
#include "workloads/json/json_document.hpp"
#include "workloads/plan/sources/settings/read_settings.hpp"
#include "workloads/plan/sources/settings/settings_list.hpp"

namespace highwater {
namespace {

namespace json = boost::json;

Setting json_scalar(const json::value& value) {
  if (value.is_null()) {
    return {{}, "null", SettingKind::null};
  }
  if (const json::string* text = value.if_string()) {
    return {{}, std::string(*text)};
  }
  if (const double* number = value.if_double()) {
    return {{}, fmt::format("{}", *number), SettingKind::number};  // "0", not Boost's "0E0"
  }
  return {{}, json::serialize(value), value.is_bool() ? SettingKind::boolean : SettingKind::number};
}

class JsonFlattener {
 public:
  explicit JsonFlattener(const std::string& file) : file_(&file) {}

  void add(const json::value& value, const std::string& key, std::size_t depth) {
    detail::check_depth(depth, *file_, key);
    const json::object* const object = value.if_object();
    const json::array* const list = value.if_array();
    if (object != nullptr) {
      add_object(*object, key, depth);
    } else if (list != nullptr && !std::ranges::none_of(*list, &json::value::is_structured)) {
      for (std::size_t i = 0; i < list->size(); ++i) {
        add((*list)[i], detail::nested_key(key, std::to_string(i)), depth + 1);
      }
    } else {
      add_leaf(list == nullptr ? json_scalar(value) : json_list(*list), key);
    }
  }

  SettingList finish() { return std::move(settings_); }

 private:
  void add_object(const json::object& object, const std::string& key, std::size_t depth) {
    for (const auto& [name, value] : object) {
      add(value, detail::nested_key(key, std::string_view(name)), depth + 1);
    }
    if (object.empty() && !key.empty()) {
      add_leaf({{}, "{}", SettingKind::null}, key);
    }
  }

  static Setting json_list(const json::array& list) {
    Setting setting{{}, {}, SettingKind::list};
    for (const json::value& item : list) {
      setting.items.push_back(json_scalar(item).value);
    }
    setting.value = detail::listed(setting.items);
    return setting;
  }

  void add_leaf(Setting setting, const std::string& key) {
    setting.key = key;
    detail::add_setting(settings_, std::move(setting), *file_);
  }

  const std::string* file_;
  SettingList settings_;
};

}  // namespace

SettingList read_json_settings(std::string_view text, const std::string& file) {
  json::parse_options lenient;
  lenient.allow_comments = true;
  lenient.allow_trailing_commas = true;
  const json::value root =
      parse_json_document(text, file, "mend the file; programs would refuse it as well", lenient);
  if (!root.is_object()) {
    throw InputError(file, "", "JSON without keys", "give the configuration of a training run");
  }
  JsonFlattener flattener(file);
  flattener.add(root, {}, 0);
  return flattener.finish();
}

}  // namespace highwater
