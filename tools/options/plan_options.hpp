// The options of a training plan on a command line: the rows of the option table, for every command
// that takes a plan.
//
// The words are those of the recordings' case files, with dashes, so a recorded case
// can be typed in as it is.
#pragma once

#include <string>
#include <vector>

#include "tools/options/command_line.hpp"
#include "tools/studies/runs/planned_run.hpp"
#include "workloads/plan/options/read_plan.hpp"

namespace highwater {

/// Adds every plan option, --gpu and the version options included, and --help-all to `parser`.
void add_plan_options(OptionParser& parser);

/// The plan options that were given.
OptionWords given_plan_options(const boost::program_options::variables_map& values);

/// The GPU that --gpu names for something other than a plan. @throws UsageError
const Gpu& gpu_called(const std::string& name);

/// What the files of --from say beside the options: notes, what the plan lacks of them, their
/// releases, and whether a recording is explained by its plan, which takes a simulation.
void add_source_facts(const boost::program_options::variables_map& values, PlannedRun& run);

/// The plan that the options describe, rules included. @throws UsageErrors with everything that is
/// wrong, `problems` included; InputError when the model's file is unreadable and nothing else is.
PlannedRun read_plan(const boost::program_options::variables_map& values,
                     std::vector<std::string> problems = {}, PlanUse use = PlanUse::generate,
                     const PlanCheck& check = {});

}  // namespace highwater
