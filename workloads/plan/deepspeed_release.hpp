// Which of the two DeepSpeeds that were read a plan runs: 0.16.4 or 0.19.8. Releases between them
// are taken as the newer one.
#pragma once

#include "traces/release.hpp"
#include "workloads/plan/training_plan.hpp"

namespace highwater {

inline bool is_recent_deepspeed(const TrainingPlan& plan) {
  return release_of(plan.versions.deepspeed) > Release{.major = 0, .minor = 16};
}

}  // namespace highwater
