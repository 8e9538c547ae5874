// What follows from a plan without running it: the rules it breaks, and what the generator lacks.
#pragma once

#include <string>
#include <vector>

namespace highwater {

struct TrainingPlan;

/// Everything wrong with `plan`, one sentence each with a remedy; empty if it can run.
std::vector<std::string> plan_problems(const TrainingPlan& plan);

/// The parts of `plan` that the generator does not support yet, one sentence each; closed forms may
/// still apply.
std::vector<std::string> generator_gaps(const TrainingPlan& plan);

/// False for classes that have only eager attention in transformers (BLOOM, GPT-Neo, T5, ...): they
/// run eager attention unless another is requested.
bool supports_sdpa(const TrainingPlan& plan);

}  // namespace highwater
