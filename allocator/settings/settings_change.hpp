// Changes one option of the settings and keeps the others, as a sweep does.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "allocator/settings/settings.hpp"
#include "allocator/settings/version.hpp"

namespace highwater {

/// Names an option's own default in with_option.
inline constexpr std::string_view kDefaultValue = "default";

/// `settings` as if their string set `option` to `value` and only to that.
/// @throws SettingsError with PyTorch's own reason
Settings with_option(const Settings& settings, std::string_view option, std::string_view value,
                     const VersionPreset& version);

/// The parts of a settings string between its commas, except for commas inside brackets.
std::vector<std::string> split_options(std::string_view conf);

}  // namespace highwater
