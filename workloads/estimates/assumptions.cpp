#include "workloads/estimates/assumptions.hpp"

namespace highwater {

std::vector<std::string> broken(std::initializer_list<Assumption> assumptions) {
  std::vector<std::string> sentences;
  for (const Assumption& assumption : assumptions) {
    if (!assumption.holds) {
      sentences.push_back(assumption.sentence);
    }
  }
  return sentences;
}

std::string refuse_without_training(const EstimateInputs& inputs) {
  return inputs.plan.training ? "" : "it is about training; the plan computes forward only";
}

bool uses_adam(const EstimateInputs& inputs) {
  const OptimizerKind kind = inputs.plan.optimizer.kind;
  return kind == OptimizerKind::adam || kind == OptimizerKind::adamw;
}

bool trains_all(const EstimateInputs& inputs) {
  return inputs.plan.lora.rank == 0;
}

bool has_half_weights(const EstimateInputs& inputs) {
  return inputs.plan.precision == Precision::bf16 || inputs.plan.precision == Precision::fp16;
}

bool has_master_weights(const EstimateInputs& inputs) {
  return has_half_weights(inputs) && inputs.plan.optimizer.master_weights;
}

}  // namespace highwater
