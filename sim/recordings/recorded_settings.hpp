// The settings and the release that a recording ran under, as far as its file shows.
#pragma once

#include <string>

#include "allocator/settings/settings.hpp"
#include "allocator/settings/version.hpp"
#include "traces/recording.hpp"

namespace highwater {

/// The preset nearest to the newest release that writes such a file; another one only where that
/// one refuses the file's own settings string.
const VersionPreset& preset_of(const Recording& recording);

/// "2.5 to 2.7", "2.8", "2.12 or later".
std::string to_string(const WriterVersion& writer);

/// The parsed fields of `allocator_settings`; options without a field of their own from its raw
/// string. Defaults when the file has no settings.
/// @throws SettingsError when the raw string is one that `version` refuses.
Settings settings_of(const Recording& recording, const VersionPreset& version);

/// The parsed fields alone: what is known when the raw string cannot be read.
Settings settings_from_fields(const Recording& recording);

}  // namespace highwater
