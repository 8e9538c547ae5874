// Parsed settings as one line of text, in the format of the conformance file conf_cases.tsv.
#pragma once

#include <string>
#include <string_view>

#include "allocator/settings/settings.hpp"
#include "allocator/settings/version.hpp"
#include "traces/error.hpp"

namespace highwater {

/// "max_split_size=unlimited;max_non_split_rounding_size=20971520;..."
std::string describe_settings(const Settings& settings);

/// The result of parsing `conf`: "CONF<tab>ok<tab>VALUES" or "CONF<tab>error<tab>REASON", where the
/// reason is PyTorch's, or just "stoi", "stod", ... when the C++ library could not convert a
/// number.
std::string conf_case_line(std::string_view conf, const VersionPreset& version);

/// Why `version` refuses settings, for people: "max_split_size_mb: 'x' is not a number in range
/// (PyTorch 2.6's own message: stoi)", or PyTorch's sentence with the option that was meant.
std::string refusal_text(const SettingsError& error, const VersionPreset& version);

}  // namespace highwater
