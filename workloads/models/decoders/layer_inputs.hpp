// Embeddings of tokens, and Gemma 4's inputs of each layer: an embedding of the tokens for every
// layer, beside a projection of what the model embeds (Gemma4TextModel of transformers 5.23).
#pragma once

#include <memory>

#include "workloads/eager/dims.hpp"
#include "workloads/models/norm.hpp"
#include "workloads/nn/layers.hpp"
#include "workloads/plan/model/families/llama_config.hpp"

namespace highwater::models {

enum class EmbeddingScale : std::uint8_t {
  none,
  number,  ///< Gemma's: a buffer of the model's type multiplies the embedding
  integer  ///< MiniCPM 3's: the same, of int64
};

class TokenEmbedding : public nn::Embedding {
 public:
  TokenEmbedding(Module* parent, const char* name, std::int64_t rows, std::int64_t width,
                 EmbeddingScale scale);

  [[nodiscard]] Tensor embed(const Tensor& input_ids) const;

 private:
  [[nodiscard]] Tensor scaled(Tensor states) const;

  Tensor scale_;
};

std::unique_ptr<TokenEmbedding> make_token_embedding(Module* parent, const LlamaConfig& config);

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
