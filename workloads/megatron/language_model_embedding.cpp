#include "workloads/megatron/language_model_embedding.hpp"

#include <utility>

#include "workloads/megatron/layers/norm.hpp"

namespace highwater::megatron {

LanguageModelEmbedding::LanguageModelEmbedding(nn::Module* parent, const LayerContext& shared,
                                               std::int64_t rows)
    : Module(parent, "embedding"),
      tp_(shared.tp),
      dropout_(context().dropout(shared.config.hidden_dropout)),
      word_embeddings_(this, "word_embeddings", shared.tp, rows, shared.config.hidden,
                       shared.tp.splits_sequence() && shared.config.positions == 0
                           ? EmbeddingSum::scattered
                           : EmbeddingSum::whole) {
  if (shared.config.positions > 0) {
    const OnHost on_host(context());
    position_embeddings_.emplace(this, "position_embeddings", shared.config.positions,
                                 shared.config.hidden);
  }
}

Tensor LanguageModelEmbedding::operator()(const Tensor& ids, const Tensor& positions) const {
  const nn::InModule scope(*this);
  Tensor words = word_embeddings_(ids);
  Tensor places;
  Tensor embeddings = words;
  if (position_embeddings_) {
    places = (*position_embeddings_)(positions);
    embeddings = eager::add(words, places);
  }
  embeddings = arranged(std::move(embeddings));
  embeddings = eager::dropout(embeddings, dropout_, context().training);
  eager::end_of_frame(words, places);
  return embeddings;
}

Tensor LanguageModelEmbedding::arranged(Tensor embeddings) const {
  const bool is_split = tp_.splits_sequence() && !position_embeddings_;
  if (!is_split) {
    embeddings = eager::contiguous(eager::transpose(embeddings, 0, 1));
  }
  if (tp_.splits_sequence()) {
    if (!is_split) {
      embeddings = scatter_to_sequence(tp_, embeddings);
    }
    embeddings = eager::clone(embeddings);
  }
  return embeddings;
}

}  // namespace highwater::megatron
