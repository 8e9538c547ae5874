// What the gates of DeepSpeed-MoE have in common.
//
// Source: DeepSpeed 0.19.8, moe/sharded_moe.py (_capacity, and the parts that top1gating,
// top2gating and topkgating repeat).
#pragma once

#include "workloads/deepspeed/moe/gates.hpp"

namespace highwater {
struct TrainingPlan;
}

namespace highwater::deepspeed {

/// What a gate is called with.
struct GateRun {
  const TrainingPlan& plan;
  GateShape shape;
  GateDistributions& distributions;
  dist::ProcessGroup& ranks;  ///< of all experts

  /// drop_tokens
  [[nodiscard]] bool drops() const;

  /// Slots of each expert: its capacity, or where no token is dropped what the busiest one needs.
  [[nodiscard]] std::int64_t slots(std::int64_t tokens) const;
};

Tensor number(eager::Runtime& runtime, DType dtype = DType::fp32);

/// An elementwise operator whose result has the type of its operand.
Tensor unary(const char* op, const Tensor& x);

/// torch.cumsum(mask, dim=0) - 1
Tensor places(const Tensor& mask);

/// me * ce of the auxiliary loss: the mean probability of each expert times its share of tokens.
Tensor balance(const Tensor& me, Tensor& ce, const Tensor& mask);

/// torch.clamp(x, min=...)
Tensor clamped(const Tensor& x);

/// new_capacity: the largest of all counts, over all ranks, and a multiple of the tensor-parallel
/// ranks, of which there is one.
Tensor largest_count(const Tensor& counts, dist::ProcessGroup& ranks);

/// topkgating: any number of experts a token, with sparse_routes.
Routes top_k_gating(const GateRun& run, const Tensor& logits);

}  // namespace highwater::deepspeed
