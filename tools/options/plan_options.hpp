// The options of a training plan: one per axis, for every command that takes a plan.
//
// The words are those of the recordings' case files, with dashes (design, section 6), so a recorded
// case can be typed in as it is. Reading never stops at the first mistake: wrong values, an unknown
// model and the rules that cross axes are reported together.
#pragma once

#include <string>
#include <vector>

#include "tools/options/command_line.hpp"
#include "tools/studies/planned_run.hpp"
#include "workloads/plan/training_plan.hpp"

namespace highwater {

/// Adds every plan option, --gpu and the version options included, to `parser`.
void add_plan_options(OptionParser& parser);

/// The plan that the options describe, without looking at rules that cross axes. What is wrong is
/// appended to `problems`.
/// @throws InputError when the model's file is unreadable and nothing else is wrong.
PlannedRun read_plan_options(const boost::program_options::variables_map& values,
                             std::vector<std::string>& problems);

/// What the plan is read for: closed forms take more than the generator.
enum class PlanUse : std::uint8_t { generate, estimate };

/// The same, rules included. @throws UsageErrors with everything that is wrong.
PlannedRun read_plan(const boost::program_options::variables_map& values,
                     std::vector<std::string> problems = {}, PlanUse use = PlanUse::generate);

}  // namespace highwater
