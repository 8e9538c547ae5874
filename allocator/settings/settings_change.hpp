// One option of the settings changed, the others kept: what a sweep varies.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "allocator/settings/settings.hpp"
#include "allocator/settings/version.hpp"

namespace highwater {

/// Names an option's own default in with_option.
inline constexpr std::string_view kDefaultValue = "default";

/// `settings` as if their string named `option` with `value` and with nothing else for it.
/// @throws SettingsError with PyTorch's own reason
Settings with_option(const Settings& settings, std::string_view option, std::string_view value,
                     const VersionPreset& version);

/// The parts of a settings string between its commas, those inside brackets left alone.
std::vector<std::string> split_options(std::string_view conf);

}  // namespace highwater
