// The embedding of tokens, and by what the families' code multiplies it.
#pragma once

#include <memory>

#include "workloads/nn/layers.hpp"
#include "workloads/plan/model/families/llama_config.hpp"

namespace highwater::models {

using eager::Tensor;
using nn::Module;

/// Multiplies by a buffer where `scale` is one.
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

/// `states` times a number if that is `step` of the family's code.
Tensor scaled_in_step(EmbeddingScale step, const LlamaConfig& config, const Tensor& states);

}  // namespace highwater::models
