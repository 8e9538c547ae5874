// Transformer Engine's linear layers as Megatron-Core uses them: a norm and a product in one
// (TELayerNormColumnParallelLinear), and a product alone (TERowParallelLinear,
// TEColumnParallelLinear).
//
// Source: Transformer Engine 2.20, pytorch/module/{layernorm_linear,linear}.py, without
// communication overlapped by userbuffers; Megatron-Core 0.16.1, core/extensions/
// transformer_engine.py.
#pragma once

#include <cstdint>
#include <string>

#include "workloads/kernels/te_norm.hpp"
#include "workloads/megatron/layers/layers.hpp"
#include "workloads/plan/model/megatron_config.hpp"

namespace highwater::megatron {

class NormedLinear : public SplitLinear {
 public:
  /// `out` columns in all, of which this rank has its part.
  NormedLinear(nn::Module* parent, std::string name, TensorParallel& tp, const Config& config,
               std::int64_t out, SplitBias bias);

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

/// Rows of a split input; its bias is the caller's to add.
class EngineRowLinear : public SplitLinear {
 public:
  /// `in` rows in all, of which this rank has its part.
  EngineRowLinear(nn::Module* parent, std::string name, TensorParallel& tp, const Config& config,
                  std::int64_t in);

  WithBias operator()(Tensor input) const override;

 private:
  TensorParallel& tp_;
  Tensor weight_;
  Tensor bias_;
};

}  // namespace highwater::megatron
