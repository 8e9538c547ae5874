// The layers of one stage of the decoder, recomputed as the plan says, and the final norm.
// Source: core/transformer/transformer_block.py of Megatron-Core 0.16.1.
#pragma once

#include <cstddef>
#include <optional>

#include "workloads/megatron/gpt_model.hpp"
#include "workloads/megatron/layers/layer_context.hpp"
#include "workloads/megatron/layers/norm.hpp"
#include "workloads/megatron/transformer_layer.hpp"

namespace highwater::megatron {

/// A part called "decoder" of the model. `shared` must outlive it.
class TransformerBlock : public nn::Module {
 public:
  TransformerBlock(nn::Module* parent, const LayerContext& shared, const Stage& stage);

  Tensor operator()(Tensor hidden_states, const Tensor& frequencies) const;

 private:
  void make_viewless(const Tensor& states) const;

  // _checkpointed_forward: tensor_parallel.checkpoint, which is reentrant.
  [[nodiscard]] Tensor run(const TransformerLayer& layer, std::size_t index,
                           const Tensor& hidden_states, const Tensor& frequencies) const;

  nn::Container layers_;
  nn::BlockList<TransformerLayer> blocks_;
  std::optional<Norm> final_layernorm_;
};

}  // namespace highwater::megatron
