// What --from names: a recording, a configuration file, a launch script or a launch line.
#pragma once

#include <string>
#include <vector>

#include "workloads/plan/sources/plan_source.hpp"

namespace highwater {

/// The plan that `text` names, and those of the files that a launch line or script names. Text with
/// spaces is a launch line unless a file has that name. @throws InputError
std::vector<PlanSource> read_plan_sources(const std::string& text);

}  // namespace highwater
