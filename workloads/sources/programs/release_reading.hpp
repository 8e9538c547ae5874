// Reads a file by the defaults of the releases that it was written for.
//
// Its keys tell the newest releases that it can be of (rules/key_dates.hpp). Where an earlier one
// has other defaults, the file may be of that one as well: `earlier` is the plan by those.
#pragma once

#include <string>

#include "workloads/sources/rules/program_row.hpp"

namespace highwater {

/// `own` are the file's settings as the program's rules call them. @throws InputError
PlanSource read_by_releases(const Program& program, const SettingList& own,
                            const std::string& file);

}  // namespace highwater
