// The file of `highwater phases`: programs, and the phases of a cycle in order.
//
//     cycles = 3
//
//     [programs.trainer]
//     plan = "--model qwen2.5-0.5b --batch 4 --seq 1024"     options of simulate
//     [programs.rollout]
//     file = "rollout.pickle"                                a snapshot or trace, beside this file
//     [programs.engine]
//     blocks = [{name = "weights", size = "1GiB"}, {name = "cache", size = "30GiB"}]
//
//     [[phases]]
//     name = "generate"
//     run = "engine"                      whose turn it is; without it nobody's
//     [[phases]]
//     name = "train"
//     run = "trainer"
//     steps = 1                           of its steps
//     asleep = ["engine:cache"]           NAME, or NAME:PART, a block or a category of a plan
//     empty-cache = true
//     settings = "expandable_segments:True"
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "tools/options/command_line.hpp"
#include "tools/studies/phases/phases_run.hpp"

namespace highwater {

/// Makes the plan of a program from its options. @throws UsageErrors
using PlanReader = std::function<std::shared_ptr<const PlannedRun>(const Arguments&)>;

/// So many turns that the answer stays readable, and the run in memory.
inline constexpr std::uint64_t kMostTurns = 1000;

/// @throws UsageError where there are more turns, or steps of a program
void require_turns(const PhasesQuestion& question);

/// Programs, phases and cycles; TOML, and for files called so YAML or JSON with the same keys.
/// @throws InputError with the line
PhasesQuestion read_phases_file(const std::string& file, const PlanReader& read_plan);

}  // namespace highwater
