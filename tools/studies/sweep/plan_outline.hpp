// What is known of a plan before its requests are made: the settings and limits under which it
// runs, and how much it holds at least.
#pragma once

#include <optional>

#include "tools/studies/sweep/plan_cache.hpp"

namespace highwater {

struct PlannedRun;

/// Absent where no closed form bounds the plan (least_memory.hpp). @pre the plan has no problems
std::optional<PlanOutline> outline_of(const PlannedRun& run, const MemoryRequest& memory);

}  // namespace highwater
