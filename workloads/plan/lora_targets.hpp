// Which modules get LoRA adapters if a plan names none: PEFT's choice, which the family's record
// has, or that of torchtune's recipes.
#pragma once

#include <string>
#include <vector>

#include "workloads/plan/training_plan.hpp"

namespace highwater {

/// The plan's own targets or PEFT's; empty for models PEFT does not know. torchtune's are those of
/// its configurations (recipes/configs/llama3_1/8B_lora.yaml of 0.6.1, and all others).
std::vector<std::string> lora_targets(const TrainingPlan& plan);

/// Whether the model's own code makes its adapters with its layers (torchtune's builders), so that
/// nobody adds them.
bool builds_adapters(const TrainingPlan& plan);

/// Whether the model is one of transformers' classes. PEFT finds default targets and input
/// embeddings of those only.
bool is_transformers_model(const TrainingPlan& plan);

}  // namespace highwater
