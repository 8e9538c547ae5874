// The kernels that scaled_dot_product_attention chooses from: one function for each backend, and
// the fused ones as operators below autograd, for ranks that share a sequence.
//
// All operands are [b, heads, s, d]; the fused kernels work on their [b, s, heads, d] views
// (ATen/native/transformers of PyTorch 2.6).
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

/// What a fused kernel is asked for besides its operands.
struct KernelCall {
  double dropout = 0.0;
  Logsumexp logsumexp = Logsumexp::computed;
};

/// What the backward of a fused kernel is given.
struct BackwardOperands {
  Operands inputs;
  Tensor output;
  Tensor logsumexp;
  Tensor grad;
  double dropout = 0.0;
  bool wants_mask_gradient = false;
};

/// aten::_scaled_dot_product_..._attention and its backward, below autograd.
struct FusedAttention {
  /// The output, the logsumexp, then what else is saved.
  TensorList (*forward)(const Operands& in, const KernelCall& call);
  /// Gradients of query, key and value, then of the mask.
  TensorList (*backward)(const BackwardOperands& in);
};

/// What context_parallel() puts in the place of the fused kernels.
class SharedAttention {
 public:
  SharedAttention() = default;
  SharedAttention(const SharedAttention&) = delete;
  SharedAttention& operator=(const SharedAttention&) = delete;
  virtual ~SharedAttention() = default;

  virtual TensorList forward(const FusedAttention& kernel, const Operands& in,
                             const KernelCall& call) = 0;
  virtual TensorList backward(const FusedAttention& kernel, const BackwardOperands& in) = 0;
};

/// The kernel's forward and backward, or what the runtime has in their place.
TensorList run_forward(const FusedAttention& kernel, const Operands& in, const KernelCall& call);
TensorList run_backward(const FusedAttention& kernel, const BackwardOperands& in);

/// The shapes of one call; the key may have fewer heads.
AttentionShape shape_of(const Operands& in);

/// Whether the fused kernels must return what backward needs, because gradients of q, k or v are
/// required.
Logsumexp logsumexp_of(const Operands& in);

/// A [b, s, h, d] tensor as [b, h, s, d] or the other way round. Made below autograd, so the
/// result holds no base.
Tensor swap_heads(const Tensor& self);

/// A mask of booleans as numbers to add: 0 or -inf (convert_boolean_attn_mask).
Tensor additive_mask(const Tensor& mask, DType dtype);

/// The logsumexp of `bytes`, [b, h, rows] in fp32; empty without gradients.
Tensor empty_logsumexp(const Operands& in, std::int64_t bytes);

Tensor flash_attention(const Operands& in, const SdpaOptions& options);
/// Puts the mask in the kernel's layout, in place of the given one.
Tensor efficient_attention(Operands& in, const SdpaOptions& options);
Tensor cudnn_attention(const Operands& in, const SdpaOptions& options);
Tensor math_attention(const Operands& in, const SdpaOptions& options);

}  // namespace highwater::eager::sdpa
