#include <toml++/toml.h>
#include <utility>

#include <fmt/format.h>

#include "traces/error.hpp"
#include "workloads/sources/settings/read_settings.hpp"
#include "workloads/sources/settings/settings_builder.hpp"
#include "workloads/sources/settings/toml_bounds.hpp"

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

/// Tells of the nodes, whose depth check_toml_bounds() has bounded.
void add_node(const toml::node& node, detail::SettingsBuilder& builder) {
  const std::size_t line = node.source().begin.line;
  if (const toml::table* const table = node.as_table()) {
    builder.begin_mapping(line);
    for (const auto& [name, value] : *table) {
      builder.key(name.str(), value.source().begin.line);
      add_node(value, builder);
    }
    builder.end_mapping();
  } else if (const toml::array* const list = node.as_array()) {
    builder.begin_list(line);
    for (const toml::node& item : *list) {
      add_node(item, builder);
    }
    builder.end_list();
  } else {
    Setting setting = toml_scalar_of(node);
    setting.line = line;
    builder.value(std::move(setting));
  }
}

}  // namespace

SettingList read_toml_settings(std::string_view text, const std::string& file) {
  detail::check_toml_bounds(text, file);
  try {
    detail::SettingsBuilder builder(file, detail::EmptyMapping::nothing);
    add_node(toml::parse(text), builder);
    builder.sort_by_line();  // tables are sorted by name; the file has its own order
    return builder.finish();
  } catch (const toml::parse_error& error) {
    const toml::source_position at = error.source().begin;
    throw InputError(file, fmt::format("line {}, column {}", at.line, at.column),
                     fmt::format("not TOML: {}", error.description()),
                     "mend the file; programs would refuse it as well");
  }
}

}  // namespace highwater
