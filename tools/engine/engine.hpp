// Who makes a plan's requests: this program's model, or an installed PyTorch.
#pragma once

#include <string>
#include <vector>

#include "workloads/training/generate.hpp"

namespace highwater {

struct TrainingPlan;

/// Chooses the engine of `plan` where it says auto, and gives a plan of PyTorch's the releases that
/// run it. What keeps the engine from carrying it out is appended to `problems`; while there are
/// others, no Python is asked.
void choose_engine(TrainingPlan& plan, std::vector<std::string>& problems);

/// The plan's requests. @pre choose_engine() found no problem @throws InputError
GeneratedRun make_run(const TrainingPlan& plan);

/// The plan in one line for people, as plan_summary(), and the engine that carries it out.
std::string run_summary(const TrainingPlan& plan);

/// What the answer takes for granted that nobody said and most scripts say otherwise; empty if
/// nothing. @pre choose_engine() found no problem
std::string assumption(const TrainingPlan& plan);

/// The end of the sentence "requests ...".
std::string how_made(const TrainingPlan& plan);

}  // namespace highwater
