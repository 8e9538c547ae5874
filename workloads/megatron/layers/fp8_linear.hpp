// Transformer Engine's linear layers with products in 8 bits, as Megatron-Core uses them: weights
// stay in 16 bits and are quantised once for all micro-batches of a step (is_first_microbatch).
//
// Source: Transformer Engine 2.20, pytorch/module/{layernorm_linear,linear,base}.py; Megatron-Core
// 0.16.1, core/extensions/transformer_engine.py, core/transformer/attention.py.
#pragma once

#include <cstdint>
#include <string>
#include <utility>

#include "workloads/kernels/te_norm.hpp"
#include "workloads/megatron/layers/layers.hpp"
#include "workloads/megatron/transformer_engine/quantizer.hpp"
#include "workloads/plan/model/megatron_config.hpp"

namespace highwater::megatron {

/// A weight and its codes, which are made by the first forward pass and written anew by later ones.
class Fp8Weight {
 public:
  explicit Fp8Weight(Tensor weight) : weight_(std::move(weight)) {}

  [[nodiscard]] const Tensor& in_16_bits() const { return weight_; }

  /// Whether this made the codes: autograd then fills in a gradient of them in backward.
  bool quantize_once(Fp8Recipe recipe);

 private:
  Tensor weight_;
  Quantized codes_;
};

class Fp8NormedLinear : public SplitLinear {
 public:
  /// `out` columns in all, of which this rank has its part.
  Fp8NormedLinear(nn::Module* parent, std::string name, TensorParallel& tp, const Config& config,
                  std::int64_t out, SplitBias bias);

  WithBias operator()(Tensor input) const override;

 private:
  TensorParallel& tp_;
  Fp8Recipe recipe_;
  TeNormKind kind_;
  SplitBias bias_kind_;
  Tensor norm_weight_;
  Tensor norm_bias_;
  mutable Fp8Weight weight_;
  mutable TensorList state_;
  Tensor bias_;
};

/// What a layer keeps of its input for backward.
enum class Fp8Saves : std::uint8_t {
  codes,    ///< by columns
  original  ///< in 16 bits, where another layer keeps it anyway (set_save_original_input)
};

/// Rows of a split input; its bias is the caller's to add.
class Fp8RowLinear : public SplitLinear {
 public:
  /// `in` rows in all, of which this rank has its part.
  Fp8RowLinear(nn::Module* parent, std::string name, TensorParallel& tp, const Config& config,
               std::int64_t in);

  WithBias operator()(Tensor input) const override;

 private:
  TensorParallel& tp_;
  Fp8Recipe recipe_;
  Fp8Saves saves_;
  mutable Fp8Weight weight_;
  mutable TensorList state_;
  Tensor bias_;
};

}  // namespace highwater::megatron
