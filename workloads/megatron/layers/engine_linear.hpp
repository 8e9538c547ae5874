// Transformer Engine's linear layers as Megatron-Core uses them: a norm and a product in one
// (TELayerNormColumnParallelLinear), and a product alone (TERowParallelLinear,
// TEColumnParallelLinear, TELinear).
//
// Source: Transformer Engine 2.20, pytorch/module/{layernorm_linear,linear}.py, without
// communication overlapped by userbuffers; Megatron-Core 0.16.1, core/extensions/
// transformer_engine.py.
#pragma once

#include <cstdint>
#include <string>

#include "workloads/kernels/te_norm.hpp"
#include "workloads/megatron/layers/layer_context.hpp"
#include "workloads/megatron/layers/layers.hpp"

namespace highwater::megatron {

class NormedLinear : public SplitLinear {
 public:
  /// `size.out` columns in all, of which this rank has its part.
  NormedLinear(nn::Module* parent, std::string name, const LayerContext& shared, LinearSize size,
               SplitBias bias);

  WithBias operator()(Tensor input) const override;

 private:
  TensorParallel& tp_;
  TeNormKind kind_;
  SplitBias bias_kind_;
  Tensor norm_weight_;
  Tensor norm_bias_;
  Tensor weight_;
  Tensor bias_;
};

/// What of a weight a rank has (parallel_mode).
enum class EngineSplit : std::uint8_t {
  columns,  ///< of the result; with sequence parallelism the input is gathered
  rows,     ///< of the input; results are summed
  none      ///< all of it: "duplicated", or an expert's, whose dispatcher communicates
};

/// A product alone; its bias is the caller's to add.
class EngineLinear : public SplitLinear {
 public:
  EngineLinear(nn::Module* parent, std::string name, TensorParallel& tp, LinearSize size,
               EngineSplit split, nn::Bias bias = nn::Bias::none);

  WithBias operator()(Tensor input) const override;

 private:
  [[nodiscard]] Tensor product(const Tensor& input) const;

  TensorParallel& tp_;
  EngineSplit split_;
  Tensor weight_;
  Tensor bias_;
};

}  // namespace highwater::megatron
