// Transformer Engine's attention by cuDNN (FusedAttention), which it takes from compute capability
// 9.0 on, and before it where the package flash-attn is missing.
//
// Source: Transformer Engine 2.20, pytorch/attention/dot_product_attention/{utils,backends}.py,
// pytorch/csrc/extensions/attention.cpp.
#pragma once

#include "workloads/eager/ops.hpp"

namespace highwater::megatron {

/// Causal attention of [s, b, heads, d] operands: [s, b, heads * d], d that of the values.
eager::Tensor fused_attention(const eager::Tensor& query, const eager::Tensor& key,
                              const eager::Tensor& value, double dropout);

}  // namespace highwater::megatron
