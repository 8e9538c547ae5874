// Reads the settings of one file by the rules of its program.
#pragma once

#include <string>

#include "workloads/sources/rules/program_row.hpp"

namespace highwater {

/// `all` are the file's settings as the program's rules call them, with its defaults.
/// @throws InputError for a key whose reader refuses it
PlanSource read_by_rules(const Program& program, const SettingList& all, const std::string& file);

}  // namespace highwater
