// Which modules get LoRA adapters if a plan names none: PEFT's choice, which the family's record
// has.
#pragma once

#include <string>
#include <vector>

#include "workloads/plan/training_plan.hpp"

namespace highwater {

/// The plan's own targets or PEFT's; empty for models PEFT does not know.
std::vector<std::string> lora_targets(const TrainingPlan& plan);

/// Whether the model is one of transformers' classes. PEFT finds default targets and input
/// embeddings of those only.
bool is_transformers_model(const TrainingPlan& plan);

}  // namespace highwater
