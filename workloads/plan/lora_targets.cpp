#include "workloads/plan/lora_targets.hpp"

namespace highwater {

std::vector<std::string> lora_targets(const TrainingPlan& plan) {
  if (!plan.lora.targets.empty() || !is_transformers_model(plan)) {
    return plan.lora.targets;
  }
  const auto targets = plan.model.config.family().lora_targets;
  return {targets.begin(), targets.end()};
}

bool is_transformers_model(const TrainingPlan& plan) {
  return plan.model_code == ModelCode::hf && !plan.model.config.family().traits.torchtitan_style;
}

}  // namespace highwater
