// The settings inside a recorded file, with an error that names the file.
#pragma once

#include <string>

#include "allocator/settings/settings.hpp"
#include "allocator/settings/version.hpp"
#include "traces/recording.hpp"

namespace highwater {

/// @throws InputError when `version` refuses the file's settings string.
Settings settings_from_file(const std::string& name, const Recording& recording,
                            const VersionPreset& version);

}  // namespace highwater
