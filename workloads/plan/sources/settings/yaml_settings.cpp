#include <algorithm>
#include <utility>
#include <yaml-cpp/yaml.h>

#include <fmt/format.h>

#include "traces/error.hpp"
#include "workloads/plan/sources/settings/interpolation.hpp"
#include "workloads/plan/sources/settings/read_settings.hpp"
#include "workloads/plan/sources/settings/scalar.hpp"
#include "workloads/plan/sources/settings/settings_list.hpp"

namespace highwater {
namespace {

std::size_t line_of(const YAML::Node& node) {
  return static_cast<std::size_t>(std::max(node.Mark().line, -1) + 1);
}

/// A plain scalar has a type of its own; a quoted one ("!") is text.
Setting yaml_scalar(const YAML::Node& node, std::string key) {
  if (node.IsNull()) {
    return {std::move(key), "null", SettingKind::null, {}, line_of(node)};
  }
  Setting setting = node.Tag() == "!" ? Setting{{}, node.Scalar()} : typed_scalar(node.Scalar());
  setting.key = std::move(key);
  setting.line = line_of(node);
  return setting;
}

bool is_flat(const YAML::Node& list) {
  return std::all_of(list.begin(), list.end(),
                     [](const YAML::Node& item) { return item.IsScalar() || item.IsNull(); });
}

class YamlFlattener {
 public:
  explicit YamlFlattener(const std::string& file) : file_(&file) {}

  void add(const YAML::Node& node, const std::string& key, std::size_t depth) {
    detail::check_depth(depth, *file_, key);
    if (node.IsMap() && node.size() > 0) {
      add_map(node, key, depth);
    } else if (node.IsSequence() && !is_flat(node)) {
      add_entries(node, key, depth);
    } else if (node.IsSequence()) {
      add_list(node, key);
    } else {
      detail::add_setting(settings_, yaml_scalar_or_empty(node, key), *file_);
    }
  }

  SettingList finish() { return std::move(settings_); }

 private:
  static Setting yaml_scalar_or_empty(const YAML::Node& node, const std::string& key) {
    return node.IsMap() ? Setting{key, "{}", SettingKind::null, {}, line_of(node)}
                        : yaml_scalar(node, key);
  }

  void add_map(const YAML::Node& node, const std::string& key, std::size_t depth) {
    for (const auto& entry : node) {
      if (!entry.first.IsScalar()) {
        throw InputError(*file_, fmt::format("line {}", line_of(entry.first)),
                         "a key that is a list or a mapping", "write keys as words");
      }
      const bool merges = entry.first.Scalar() == "<<";
      add(entry.second, merges ? key : detail::nested_key(key, entry.first.Scalar()), depth + 1);
    }
  }

  void add_entries(const YAML::Node& node, const std::string& key, std::size_t depth) {
    for (std::size_t i = 0; i < node.size(); ++i) {
      add(node[i], detail::nested_key(key, std::to_string(i)), depth + 1);
    }
  }

  void add_list(const YAML::Node& node, const std::string& key) {
    Setting list{key, {}, SettingKind::list, {}, line_of(node)};
    for (const YAML::Node& item : node) {
      list.items.push_back(yaml_scalar(item, {}).value);
    }
    list.value = detail::listed(list.items);
    detail::add_setting(settings_, std::move(list), *file_);
  }

  const std::string* file_;
  SettingList settings_;
};

YAML::Node load_yaml(std::string_view text, const std::string& file) {
  try {
    return YAML::Load(std::string(text));
  } catch (const YAML::Exception& error) {
    throw InputError(file,
                     fmt::format("line {}, column {}", error.mark.line + 1, error.mark.column + 1),
                     "not YAML: " + error.msg, "mend the file; programs would refuse it as well");
  }
}

}  // namespace

SettingList read_yaml_settings(std::string_view text, const std::string& file) {
  const YAML::Node root = load_yaml(text, file);
  if (!root.IsMap()) {
    throw InputError(file, "", "YAML without keys", "give the configuration of a training run");
  }
  YamlFlattener flattener(file);
  flattener.add(root, {}, 0);
  return resolve_interpolations(flattener.finish());
}

}  // namespace highwater
