// Readers of configuration files, one per format.
//
// All of them leave comments out, keep the order of the file, write booleans as true and false, and
// give entries of nested lists their place in the key ("datasets.0.path").
#pragma once

#include <string>
#include <string_view>

#include "workloads/sources/settings/setting.hpp"

namespace highwater {

/// YAML 1.1's words for booleans count, since PyYAML reads these programs' files; values such as
/// ${other.key} take the value of that key, as OmegaConf does.
/// @throws InputError with line and column
SettingList read_yaml_settings(std::string_view text, const std::string& file);

/// @throws InputError with line and column
SettingList read_toml_settings(std::string_view text, const std::string& file);

/// Comments and trailing commas are allowed. @throws InputError with the position in bytes
SettingList read_json_settings(std::string_view text, const std::string& file);

}  // namespace highwater
