// Norms of Megatron-Core's layers, and where parameters of torch.nn's own layers are created.
// Source: core/fusions/fused_layer_norm.py and core/extensions/transformer_engine.py of 0.16.1.
#pragma once

#include <cstdint>
#include <string>
#include <utility>

#include "workloads/megatron/layers/tensor_parallel.hpp"
#include "workloads/nn/module.hpp"
#include "workloads/plan/model/megatron_config.hpp"

namespace highwater::megatron {

/// Creates parameters on the host in fp32, as torch.nn's layers do inside GPTModel.
class OnHost {
 public:
  explicit OnHost(nn::ModelContext& context);

 private:
  eager::Scoped<eager::Place> place_;
  eager::Scoped<DType> dtype_;
};

/// FusedLayerNorm, or RMSNorm of Transformer Engine; with --transformer-impl transformer-engine its
/// TENorm, which is made on the device.
class Norm : public nn::Module {
 public:
  Norm(nn::Module* parent, std::string name, const Config& config)
      : Norm(parent, std::move(name), config, config.hidden) {}

  /// Of `width` columns: of heads.
  Norm(nn::Module* parent, std::string name, const Config& config, std::int64_t width);

  [[nodiscard]] nn::LayerKind layer_kind() const override { return nn::LayerKind::norm; }

  Tensor operator()(Tensor x) const;

 private:
  bool rms_;
  bool is_engine_;
  Tensor weight_;
  Tensor bias_;
};

}  // namespace highwater::megatron
