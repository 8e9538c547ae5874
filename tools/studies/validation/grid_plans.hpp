// The plans of a grid, read as the command line reads them: the same words, rules and messages.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "tools/studies/runs/planned_run.hpp"
#include "tools/studies/validation/grid_file.hpp"
#include "workloads/plan/options/option_table.hpp"

namespace highwater {

/// A plan that can be simulated.
struct GridPoint {
  std::string label;    ///< "model=gpt2 batch=4", as the file has it
  std::string options;  ///< "--model gpt2 --batch 4", for a shell
  PlannedRun run;
  /// Every axis of the plan (plan_words), defaults included.
  OptionWords words;
  std::optional<Measurement> measured;
};

/// A combination that the rules refuse.
struct SkippedPoint {
  std::string label;
  std::vector<std::string> reasons;
};

struct GridPlans {
  std::vector<GridPoint> points;  ///< in the order of the entries
  std::vector<SkippedPoint> skipped;
};

/// Plans that the rules refuse, or that the simulation cannot run yet, are skipped.
/// @throws InputError naming the field of an unknown option or a wrong word
GridPlans grid_plans(const std::vector<GridEntry>& entries, const std::string& source);

/// Leaves the plans whose label matches (name_pattern.hpp).
void keep_matching(GridPlans& plans, std::string_view patterns);

}  // namespace highwater
