// The fused kernels that Megatron-Core runs by default (bias_gelu_fusion, bias_swiglu_fusion,
// bias_dropout_fusion, masked_softmax_fusion, apply_rope_fusion; RMSNorm of Transformer Engine):
// what each allocates and keeps. Everything between its operands and its result stays in registers.
#pragma once

#include "workloads/eager/ops.hpp"

namespace highwater::megatron {

using eager::Tensor;

/// core/fusions/fused_bias_gelu.py: keeps both operands.
Tensor bias_gelu(const Tensor& input, const Tensor& bias);

/// core/fusions/fused_bias_swiglu.py of [s, b, 2 f]: keeps the input; [s, b, f].
Tensor swiglu(const Tensor& input);

/// The same of an expert's [rows, 2 f], times an fp32 number for each row: keeps both; [rows, f].
Tensor weighted_swiglu(const Tensor& input, const Tensor& weights);

/// core/fusions/fused_bias_dropout.py, compiled: keeps one byte per element if `p` is above 0.
Tensor bias_dropout_add(const Tensor& x, const Tensor& bias, const Tensor& residual, double p);

/// apex/transformer, scaled_upper_triang_masked_softmax of [heads, s, s]: keeps the result; the
/// gradient replaces the incoming one.
Tensor causal_softmax(const Tensor& scores);

/// Transformer Engine's fused_rope of [s, b, heads, d]: keeps the frequencies; contiguous results.
Tensor rotate(const Tensor& states, const Tensor& frequencies);

/// Transformer Engine's rmsnorm_fwd: keeps the input and an fp32 number per row.
Tensor rms_norm(const Tensor& input, const Tensor& weight);

}  // namespace highwater::megatron
