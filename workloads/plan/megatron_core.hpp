// Whether Megatron-Core runs a plan, by itself or under NeMo.
#pragma once

#include "workloads/plan/training_plan.hpp"

namespace highwater {

inline bool runs_megatron_core(const TrainingPlan& plan) {
  return plan.model_code == ModelCode::megatron;
}

}  // namespace highwater
