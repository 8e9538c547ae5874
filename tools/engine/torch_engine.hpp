// The engine of `--engine torch`: a plan's requests as the user's own PyTorch makes them.
//
// One Python process has torch loaded and runs each plan in a fork of itself, as the script that a
// user would write, under the recorder of `highwater record`. What comes back is the same as from
// the generator: requests with steps, phases, categories and modules.
#pragma once

#include <string>

#include "workloads/training/generate.hpp"

namespace highwater {

struct TrainingPlan;

/// The releases that a Python has.
struct EngineReleases {
  std::string torch;         ///< "2.15.0+cu132"
  std::string transformers;  ///< "5.23.0"; empty if it has none
};

/// Why the Python of `plan` cannot run it, in a sentence; empty if it can. Starts it once.
std::string engine_problem(const TrainingPlan& plan);

/// @pre engine_problem(plan) is empty @throws InputError
const EngineReleases& engine_releases(const TrainingPlan& plan);

/// Why no script can say the plan; empty if one can. @pre engine_problem(plan) is empty
std::string script_problem(const TrainingPlan& plan);

/// What a reader should know of the model and its batch that the plan does not say: "" or e.g.
/// "CLIPModel trained on input_ids, pixel_values". @pre script_problem(plan) is empty
std::string script_note(const TrainingPlan& plan);

/// What the script takes for granted that nobody said and most scripts say otherwise, in a sentence
/// for the verdict; empty if nothing. @pre script_problem(plan) is empty
std::string script_assumption(const TrainingPlan& plan);

/// @throws InputError if there is no such Python, or the plan cannot be said in a script, or the
/// script fails
GeneratedRun run_in_torch(const TrainingPlan& plan);

}  // namespace highwater
