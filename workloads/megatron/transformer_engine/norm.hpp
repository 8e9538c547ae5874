// LayerNorm and RMSNorm of Transformer Engine: by themselves, and as what its linear layers begin
// with.
//
// Source: Transformer Engine 2.20, pytorch/csrc/extensions/normalization.cpp and
// pytorch/ops/basic/{layer_norm,rmsnorm}.py.
#pragma once

#include "workloads/eager/ops.hpp"
#include "workloads/kernels/te_norm.hpp"
#include "workloads/megatron/transformer_engine/quantizer.hpp"

namespace highwater::megatron {

/// The kernel's results; `mean` is undefined for RMSNorm.
struct Normalized {
  eager::Tensor mean;
  eager::Tensor deviation;  ///< reciprocal, of each row
  eager::Tensor output;
};

Normalized normalize(const eager::Tensor& input, TeNormKind kind);

/// The same with its output in 8 bits.
struct NormalizedTo8Bits {
  eager::Tensor mean;
  eager::Tensor deviation;
  Quantized output;
};

NormalizedTo8Bits normalize_to_8_bits(const eager::Tensor& input, TeNormKind kind,
                                      Fp8Recipe recipe);

/// Gradients of the input, of the weight and, of LayerNorm, of the bias.
struct NormGradients {
  eager::Tensor input;
  eager::Tensor weight;
  eager::Tensor bias;
};

NormGradients normalize_backward(const eager::Tensor& input, TeNormKind kind);

/// Frees the block of what backward no longer needs before it returns (clear_tensor_data).
void clear_data(const eager::Tensor& tensor);

/// TENorm's forward. RMSNorm if `bias` is undefined.
eager::Tensor engine_norm(const eager::Tensor& input, const eager::Tensor& weight,
                          const eager::Tensor& bias);

}  // namespace highwater::megatron
