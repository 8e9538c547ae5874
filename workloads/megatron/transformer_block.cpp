#include "workloads/megatron/transformer_block.hpp"

#include <vector>

#include "workloads/megatron/layers/engine.hpp"
#include "workloads/nn/checkpoint.hpp"
#include "workloads/plan/training_plan.hpp"

namespace highwater::megatron {

TransformerBlock::TransformerBlock(nn::Module* parent, const LayerContext& shared,
                                   const Stage& stage)
    : Module(parent, "decoder"),
      layers_(this, "layers"),
      blocks_(layers_, static_cast<std::size_t>(stage.layers), shared, stage.first_layer) {
  if (stage.has_head) {
    final_layernorm_.emplace(this, "final_layernorm", shared.config);
  }
}

Tensor TransformerBlock::operator()(Tensor hidden_states, const Tensor& frequencies) const {
  const nn::InModule scope(*this);
  if (hidden_states->base.defined()) {
    make_viewless(hidden_states);
  }
  for (std::size_t i = 0; i < blocks_.size(); ++i) {
    const TransformerLayer& layer = blocks_[i];
    hidden_states = run(layer, i, hidden_states, frequencies);
  }
  if (final_layernorm_) {
    hidden_states = (*final_layernorm_)(hidden_states);
    if (uses_engine(context())) {  // whose norm returns a view
      make_viewless(hidden_states);
    }
  }
  return hidden_states;
}

// make_viewless_tensor allocates one element and frees it at once.
void TransformerBlock::make_viewless(const Tensor& states) const {
  const Tensor place = eager::empty(runtime(), {1}, states.dtype());
}

Tensor TransformerBlock::run(const TransformerLayer& layer, std::size_t index,
                             const Tensor& hidden_states, const Tensor& frequencies) const {
  const Checkpoint& checkpoint = context().plan.checkpoint;
  const auto n = static_cast<std::size_t>(checkpoint.n);
  const bool recomputes = checkpoint.kind == CheckpointKind::full ||
                          (checkpoint.kind == CheckpointKind::every_n && index % n == n - 1);
  if (!recomputes || !context().training) {
    return layer(hidden_states, frequencies);
  }
  const auto segment = [&layer](const std::vector<Tensor>& in) {
    return TensorList{layer(in[0], in[1])};
  };
  return nn::checkpoint_reentrant(runtime(), segment, {hidden_states, frequencies})[0];
}

}  // namespace highwater::megatron
