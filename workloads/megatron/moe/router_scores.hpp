// From a router's logits to the experts of each token: scores, the best experts, their weights.
// Source: Megatron-Core 0.16.1, core/transformer/moe/moe_utils.py
// (topk_routing_with_score_function, group_limited_topk, apply_router_token_dropping).
#pragma once

#include "workloads/eager/ops.hpp"
#include "workloads/plan/model/megatron_config.hpp"

namespace highwater::megatron {

/// The experts of each token and their weights, [tokens, top_k]; what they are made of lives as
/// long.
struct Chosen {
  eager::Tensor indices;
  eager::Tensor probs;
  eager::Tensor scores;
  eager::Tensor corrected_scores;  ///< with the bias, of all experts and of the best
  eager::Tensor corrected_best;
};

/// Of [tokens, experts] logits; `expert_bias` may be undefined.
Chosen chosen_experts(const eager::Tensor& logits, const Config& config,
                      const eager::Tensor& expert_bias);

/// zeros_like(like), which has no gradient.
eager::Tensor zeros_like(const eager::Tensor& like);

/// zeros_like(like).scatter(1, indices, values)
eager::Tensor scattered(const eager::Tensor& like, const eager::Tensor& indices,
                        const eager::Tensor& values);

/// zeros_like(like).int().scatter(1, indices, 1).bool(); with the type of `like` without .int().
eager::Tensor mask_of(const eager::Tensor& like, DType dtype);

}  // namespace highwater::megatron
