// Programs that a user has described in files of facts of their own.
#pragma once

#include <filesystem>
#include <span>
#include <vector>

#include "workloads/sources/rules/program_row.hpp"

namespace highwater {

/// The programs of the *.json files in $HIGHWATER_PROGRAMS, else in highwater/programs below
/// $XDG_CONFIG_HOME or ~/.config, by name of the file; none where the folder does not exist. They
/// are read once. @throws InputError for a file that is wrong
std::span<const Program* const> own_programs();

/// The programs of one folder. @throws InputError
std::vector<Program> programs_in(const std::filesystem::path& folder);

}  // namespace highwater
