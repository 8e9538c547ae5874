// One layer of the decoder: norm, self-attention, norm, MLP or mixture of experts.
// Source: core/transformer/{transformer_layer,mlp}.py of Megatron-Core 0.16.1.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "workloads/megatron/attention/attention_part.hpp"
#include "workloads/megatron/layers/layer_context.hpp"
#include "workloads/megatron/layers/norm.hpp"
#include "workloads/megatron/layers/recomputation.hpp"
#include "workloads/megatron/moe/moe_layer.hpp"

namespace highwater::megatron {

/// [s, b, h] in and out; `frequencies` are the rotary embedding, undefined without one.
class TransformerLayer : public nn::Module {
 public:
  /// Layer `index` of a stage whose first one is `first_layer` of the model.
  TransformerLayer(nn::Module* parent, std::size_t index, const LayerContext& shared,
                   std::int64_t first_layer);

  Tensor operator()(Tensor hidden_states, const Tensor& frequencies) const;

 private:
  [[nodiscard]] Tensor attend(const Tensor& hidden_states, const Tensor& frequencies) const;

  [[nodiscard]] WithBias feed_forward(const Tensor& normalized) const;

  /// `states` where the layer behind contains the norm.
  static Tensor normalize(const std::unique_ptr<Norm>& norm, const Tensor& states,
                          CheckpointWithoutOutput& checkpoint);

  [[nodiscard]] Tensor add(const WithBias& x, const Tensor& residual) const;

  bool mixes_;
  double dropout_;
  std::unique_ptr<Norm> input_layernorm_;
  std::unique_ptr<AttentionPart> self_attention_;
  std::unique_ptr<Norm> pre_mlp_layernorm_;
  std::unique_ptr<FeedForward> mlp_;
};

}  // namespace highwater::megatron
