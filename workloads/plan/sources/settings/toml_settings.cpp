#include <algorithm>
#include <toml++/toml.h>
#include <utility>

#include <fmt/format.h>

#include "traces/error.hpp"
#include "workloads/plan/sources/settings/read_settings.hpp"
#include "workloads/plan/sources/settings/settings_list.hpp"

namespace highwater {
namespace {

/// Numbers, dates and times as they would be written.
template <class Value>
Setting toml_scalar(const Value& value) {
  if constexpr (toml::is_string<Value>) {
    return {{}, value.get()};
  } else if constexpr (toml::is_boolean<Value>) {
    return {{}, value.get() ? "true" : "false", SettingKind::boolean};
  } else if constexpr (toml::is_number<Value>) {
    return {{}, fmt::format("{}", value.get()), SettingKind::number};
  } else {
    return {{}, "a date or time"};
  }
}

Setting toml_scalar_of(const toml::node& node) {
  Setting setting;
  node.visit([&](const auto& value) {
    if constexpr (toml::is_value<decltype(value)>) {
      setting = toml_scalar(value);
    }
  });
  return setting;
}

bool holds_values(const toml::array& list) {
  for (const toml::node& item : list) {
    if (!item.is_value()) {
      return false;
    }
  }
  return true;
}

class TomlFlattener {
 public:
  explicit TomlFlattener(const std::string& file) : file_(&file) {}

  void add(const toml::node& node, const std::string& key, std::size_t depth) {
    detail::check_depth(depth, *file_, key);
    const toml::array* const list = node.as_array();
    if (const toml::table* const table = node.as_table()) {
      for (const auto& [name, value] : *table) {
        add(value, detail::nested_key(key, name.str()), depth + 1);
      }
    } else if (list != nullptr && !holds_values(*list)) {
      for (std::size_t i = 0; i < list->size(); ++i) {
        add((*list)[i], detail::nested_key(key, std::to_string(i)), depth + 1);
      }
    } else {
      add_leaf(list == nullptr ? toml_scalar_of(node) : toml_list(*list), node, key);
    }
  }

  /// Tables are sorted by name; the file has its own order.
  SettingList finish() {
    std::ranges::stable_sort(settings_.list(), {}, &Setting::line);
    return std::move(settings_);
  }

 private:
  static Setting toml_list(const toml::array& list) {
    Setting setting{{}, {}, SettingKind::list};
    for (const toml::node& item : list) {
      setting.items.push_back(toml_scalar_of(item).value);
    }
    setting.value = detail::listed(setting.items);
    return setting;
  }

  void add_leaf(Setting setting, const toml::node& node, const std::string& key) {
    setting.key = key;
    setting.line = node.source().begin.line;
    detail::add_setting(settings_, std::move(setting), *file_);
  }

  const std::string* file_;
  SettingList settings_;
};

}  // namespace

SettingList read_toml_settings(std::string_view text, const std::string& file) {
  try {
    TomlFlattener flattener(file);
    flattener.add(toml::parse(text), {}, 0);
    return flattener.finish();
  } catch (const toml::parse_error& error) {
    const toml::source_position at = error.source().begin;
    throw InputError(file, fmt::format("line {}, column {}", at.line, at.column),
                     fmt::format("not TOML: {}", error.description()),
                     "mend the file; programs would refuse it as well");
  }
}

}  // namespace highwater
