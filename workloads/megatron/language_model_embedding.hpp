// Embeddings of words and, for models with learned positions, of positions; in the result the
// sequence dimension comes first. Source: core/models/common/embeddings/language_model_embedding.py
// of Megatron-Core 0.16.1.
#pragma once

#include <cstdint>
#include <optional>

#include "workloads/megatron/layers/layer_context.hpp"
#include "workloads/megatron/layers/layers.hpp"
#include "workloads/nn/layers.hpp"

namespace highwater::megatron {

class PositionEmbedding : public nn::Embedding {
 public:
  using Embedding::Embedding;
};

/// LanguageModelEmbedding: [s, b, h], or [s / size, b, h] with sequence parallelism.
class LanguageModelEmbedding : public nn::Module {
 public:
  LanguageModelEmbedding(nn::Module* parent, const LayerContext& shared, std::int64_t rows);

  [[nodiscard]] const Tensor& word_weight() const { return word_embeddings_.weight(); }

  Tensor operator()(const Tensor& ids, const Tensor& positions) const;

 private:
  [[nodiscard]] Tensor arranged(Tensor embeddings) const;

  TensorParallel& tp_;
  double dropout_;
  VocabParallelEmbedding word_embeddings_;
  std::optional<PositionEmbedding> position_embeddings_;
};

}  // namespace highwater::megatron
