#include "workloads/plan/lora_targets.hpp"

namespace highwater {

std::vector<std::string> lora_targets(const TrainingPlan& plan) {
  if (plan.lora.targets.empty() && builds_adapters(plan)) {
    return {"q_proj", "v_proj", "o_proj", "gate_proj", "up_proj", "down_proj"};
  }
  if (!plan.lora.targets.empty() || !is_transformers_model(plan)) {
    return plan.lora.targets;
  }
  const auto targets = plan.model.config.family().lora_targets;
  return {targets.begin(), targets.end()};
}

bool builds_adapters(const TrainingPlan& plan) {
  return plan.model_code == ModelCode::torchtune;
}

bool is_transformers_model(const TrainingPlan& plan) {
  return plan.model_code == ModelCode::hf && !plan.model.config.family().traits.torchtitan_style;
}

}  // namespace highwater
