// Where the defaults of a plan's options come from: release, file and name there, for --help.
//
// The values are not written here. They are read from the plan itself and from the framework
// profiles, so that --help cannot say anything else than what runs.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace highwater {

/// "default fp32 (...)", and a line for each other value that a framework's profile has; empty for
/// an option that has no row.
std::vector<std::string> default_lines(std::string_view option);

/// Options whose default a framework's profile changes without a source: none, as tests require.
std::vector<std::string> uncited_profile_defaults();

}  // namespace highwater
