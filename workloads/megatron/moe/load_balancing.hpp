// The loss by which a router spreads tokens over its experts.
// Source: Megatron-Core 0.16.1, core/transformer/moe/{router,moe_utils}.py
// (compute_routing_scores_for_aux_loss, switch_load_balancing_loss_func, MoEAuxLossAutoScaler).
#pragma once

#include <cstdint>

#include "workloads/eager/ops.hpp"

namespace highwater::megatron {

/// What the loss counts.
struct BalancedTokens {
  std::int64_t top_k = 1;
  std::int64_t sequences = 1;  ///< counted apart (seq_aux_loss)
  bool is_sigmoid = false;
};

/// `probs`, behind which the loss of [tokens, experts] logits gets its gradient.
eager::Tensor with_balancing_loss(const eager::Tensor& probs, const eager::Tensor& logits,
                                  const BalancedTokens& tokens);

}  // namespace highwater::megatron
