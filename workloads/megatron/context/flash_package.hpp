// The kernels of the package flash-attn 2 as Transformer Engine calls them, on [b, s, heads, d]
// tensors (csrc/flash_attn/flash_api.cpp: mha_fwd, mha_bwd).
//
// PyTorch's own flash attention is the same code; the package also returns its random state, 16
// bytes on the device.
#pragma once

#include "workloads/eager/ops.hpp"

namespace highwater::megatron {

/// What one call keeps for its backward.
struct FlashStep {
  eager::Tensor out;        ///< [b, q_len, heads, d]
  eager::Tensor logsumexp;  ///< [b, heads, q_len] fp32
  eager::Tensor rng_state;  ///< two int64
};

/// Operands of attention over several ranks, [b, s / cp, heads, d], contiguous.
struct FlashOperands {
  eager::Tensor query;
  eager::Tensor key;
  eager::Tensor value;
  double dropout = 0.0;
};

/// Lengths of one call.
struct FlashLengths {
  std::int64_t query = 0;
  std::int64_t key = 0;
};

/// Forward of `lengths` tokens with the batch, heads and type of [b, ., heads, d] operands.
FlashStep flash_step(const eager::Tensor& query, const eager::Tensor& key, FlashLengths lengths,
                     double dropout);

/// What the backward allocates and frees besides the gradients, which are the caller's.
void flash_step_backward(const eager::Tensor& query, const eager::Tensor& key,
                         FlashLengths lengths);

}  // namespace highwater::megatron
