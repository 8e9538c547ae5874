// The kernels that scaled_dot_product_attention chooses from: one function for each backend.
//
// Internal to eager/attention*.cpp. All operands are [b, heads, s, d]; the fused kernels work on
// their [b, s, heads, d] views (ATen/native/transformers of PyTorch 2.6).
#pragma once

#include "workloads/eager/ops.hpp"
#include "workloads/kernels/attention.hpp"

namespace highwater::eager::sdpa {

struct Operands {
  Tensor query;
  Tensor key;
  Tensor value;
  Tensor mask;  ///< may be undefined
};

/// The shapes of one call; the key may have fewer heads.
AttentionShape shape_of(const Operands& in);

/// Whether the fused kernels must return what backward needs, because gradients of q, k or v are
/// required.
bool wants_logsumexp(const Operands& in);

/// A [b, s, h, d] tensor as [b, h, s, d] or the other way round. Made below autograd, so the
/// result holds no base.
Tensor swap_heads(const Tensor& self);

/// A mask of booleans as numbers to add: 0 or -inf (convert_boolean_attn_mask).
Tensor additive_mask(const Tensor& mask, DType dtype);

Tensor flash_attention(const Operands& in, const SdpaOptions& options);
/// Puts the mask in the kernel's layout, in place of the given one.
Tensor efficient_attention(Operands& in, const SdpaOptions& options);
Tensor cudnn_attention(const Operands& in, const SdpaOptions& options);
Tensor math_attention(const Operands& in, const SdpaOptions& options);

}  // namespace highwater::eager::sdpa
