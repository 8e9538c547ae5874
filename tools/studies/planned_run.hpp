// A plan as it was asked for.
#pragma once

#include "workloads/plan/training_plan.hpp"

namespace highwater {

struct PlannedRun {
  TrainingPlan plan;
  bool gpu_named = false;  ///< the GPU was asked for: the run has to fit on it
};

}  // namespace highwater
