// What decides the requests of a run beside its integers, as `highwater record` has noted it.
//
// A program of `fit` has one value of each built in: another GPU chooses other kernels and asks for
// other workspaces, another class, type, adapter or optimizer makes other requests. So recordings
// that differ in one of them are no runs of one program, and the program says what it holds for.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "traces/scalable_program.hpp"

namespace highwater {

/// Those that `plan` (Recording::plan) tells; empty where it tells none.
std::vector<FixedCondition> recorded_conditions(const std::string& plan);

/// A recording by its file.
struct ConditionsOfRun {
  std::string path;
  std::vector<FixedCondition> conditions;
};

/// Those that all runs share, without those that a run does not tell. @throws UsageError where two
/// runs tell different values of one
std::vector<FixedCondition> shared_conditions(std::span<const ConditionsOfRun> runs);

}  // namespace highwater
