// Whose context parallelism a plan runs outside of Megatron-Core, and what a rank then has of a
// sequence.
//
// Source: torch 2.15, distributed/tensor/experimental/_context_parallel; accelerate 1.15,
// accelerator.py maybe_context_parallel.
#pragma once

#include "workloads/plan/training_plan.hpp"

namespace highwater {

inline bool runs_context_parallel(const TrainingPlan& plan) {
  return plan.parallel.cp > 1 && plan.model_code == ModelCode::hf &&
         plan.parallel.cp_kind == ContextParallel::ring;
}

/// Whether heads are exchanged for tokens.
inline bool exchanges_heads(const Parallelism& p) {
  return p.cp_kind == ContextParallel::ulysses ||
         p.cp_kind == ContextParallel::distributed_attention;
}

/// Whether a plan runs DeepSpeed's Ulysses around transformers' code: UlyssesSPAttentionHF or
/// DistributedAttention.
inline bool runs_ulysses(const TrainingPlan& plan) {
  return plan.parallel.cp > 1 && plan.model_code == ModelCode::hf && exchanges_heads(plan.parallel);
}

/// Whether a plan runs ring self-attention as published (Li et al. 2021; Colossal-AI 0.5,
/// legacy/nn/layer/parallel_sequence): each rank has one part of every sequence.
inline bool runs_ring_self_attention(const Parallelism& p) {
  return p.cp > 1 && p.cp_kind == ContextParallel::ring_self_attention;
}

/// Whether the rank's two chunks of a sequence leave out what lies between them: those of all ranks
/// but the last, whose chunks are neighbours.
inline bool has_distant_chunks(const TrainingPlan& plan) {
  return runs_context_parallel(plan) && rank_place(plan.parallel).cp + 1 < plan.parallel.cp;
}

}  // namespace highwater
