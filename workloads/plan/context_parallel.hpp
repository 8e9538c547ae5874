// Whether a plan runs PyTorch's context_parallel() around transformers' code, and what a rank then
// has of a sequence.
//
// Source: torch 2.15, distributed/tensor/experimental/_context_parallel; accelerate 1.15,
// accelerator.py maybe_context_parallel.
#pragma once

#include "workloads/plan/training_plan.hpp"

namespace highwater {

inline bool runs_context_parallel(const TrainingPlan& plan) {
  return plan.parallel.cp > 1 && plan.model_code == ModelCode::hf;
}

/// Whether the rank's two chunks of a sequence leave out what lies between them: those of all ranks
/// but the last, whose chunks are neighbours.
inline bool has_distant_chunks(const TrainingPlan& plan) {
  return runs_context_parallel(plan) && rank_place(plan.parallel).cp + 1 < plan.parallel.cp;
}

}  // namespace highwater
