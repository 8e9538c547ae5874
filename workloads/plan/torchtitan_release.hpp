// Which of the two torchtitans that were read a plan runs: the code of January 2025 (0.0) or 0.3.
// Releases between them are taken as the newer one.
#pragma once

#include "traces/release.hpp"
#include "workloads/plan/training_plan.hpp"

namespace highwater {

inline bool is_recent_torchtitan(const TrainingPlan& plan) {
  return plan.model_code == ModelCode::torchtitan &&
         release_of(plan.versions.torchtitan) > Release{.major = 0, .minor = 0};
}

/// Whether fully_shard is applied; torchtitan 0.3 does so on one rank, too, for its mixed precision
/// (distributed/fsdp.py apply_fsdp_to_decoder).
inline bool applies_fully_shard(const TrainingPlan& plan) {
  return is_fsdp2(plan.parallel) ||
         (is_recent_torchtitan(plan) && plan.parallel.dp_kind == DataParallel::fsdp2);
}

}  // namespace highwater
