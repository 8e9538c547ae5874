// Gemma 4's inputs of each layer: an embedding of the tokens for every layer, beside a projection
// of what the model embeds (Gemma4TextModel of transformers 5.23).
#pragma once

#include <memory>

#include "workloads/eager/dims.hpp"
#include "workloads/models/decoders/token_embedding.hpp"
#include "workloads/models/norm.hpp"
#include "workloads/nn/layers.hpp"
#include "workloads/plan/model/families/llama_config.hpp"

namespace highwater::models {

/// [batch, seq, layers, width].
class LayerInputs {
 public:
  LayerInputs(Module* model, const LlamaConfig& config);

  [[nodiscard]] Tensor operator()(const Tensor& input_ids, const Tensor& inputs_embeds) const;

 private:
  eager::Dims split_;  ///< layers, width
  TokenEmbedding table_;
  nn::Linear projection_;
  Norm norm_;
};

/// The part of a block that takes its input in.
class LayerInputPart {
 public:
  LayerInputPart(Module* block, const LlamaConfig& config);

  [[nodiscard]] Tensor operator()(Tensor hidden_states, const Tensor& input) const;

 private:
  nn::ActivationFunction act_fn_;
  nn::Linear gate_;
  nn::Linear projection_;
  Norm norm_;
};

}  // namespace highwater::models
