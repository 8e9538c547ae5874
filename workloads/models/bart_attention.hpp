// What OPT and BioGPT share: both come from fairseq's decoder (transformers 5.12, modeling_opt.py,
// modeling_biogpt.py; the code there is copied from BART's).
#pragma once

#include "workloads/models/attention.hpp"
#include "workloads/models/language_model.hpp"
#include "workloads/nn/layers.hpp"

namespace highwater::models {

struct BartAttentionConfig {
  std::int64_t hidden_size = 0;
  std::int64_t heads = 0;
  double dropout = 0.0;
  bool has_bias = true;
  bool scales_query = false;  ///< the query is scaled, not the scores
  bool fp32_softmax = false;  ///< softmax in fp32, converted back
};

/// OPTAttention and BioGptAttention: four projections, made in the order k, v, q, out.
class BartAttention : public Module {
 public:
  BartAttention(Module* parent, const BartAttentionConfig& config);

  AttentionResult operator()(Tensor hidden_states, const Tensor& mask,
                             const nn::CachePtr& cache) const;

 private:
  [[nodiscard]] Tensor heads(const Tensor& states) const;
  [[nodiscard]] AttentionResult attend(const Tensor& query, const Tensor& key, const Tensor& value,
                                       const Tensor& mask) const;
  [[nodiscard]] AttentionResult attend_eagerly(const Tensor& query, const Tensor& key,
                                               const Tensor& value, const Tensor& mask,
                                               double dropout) const;

  BartAttentionConfig config_;
  nn::Linear k_proj_;
  nn::Linear v_proj_;
  nn::Linear q_proj_;
  nn::Linear out_proj_;
};

/// A table of positions whose first two rows are never used.
class OffsetPositionalEmbedding : public nn::Embedding {
 public:
  OffsetPositionalEmbedding(Module* parent, std::int64_t positions, std::int64_t width)
      : Embedding(parent, "embed_positions", positions + kOffset, width) {}

  Tensor operator()(Tensor position_ids) const;

 private:
  static constexpr std::int64_t kOffset = 2;
};

/// Runs a decoder's layers.
template <class Layer>
Tensor run_bart_layers(const nn::BlockList<Layer>& layers, Tensor states, const Tensor& mask,
                       const Tensor& position_ids, const nn::CachePtr& cache) {
  for (std::size_t i = 0; i < layers.size(); ++i) {
    const auto& layer = layers[i];
    states = run_block(layer, i,
                       [&layer, cache](const std::vector<Tensor>& in, const Keywords& named) {
                         return layer(in[0], named[0][0], cache);
                       },
                       {states}, {{mask}, {position_ids}});
  }
  return states;
}

/// The mask of ones that both models make if they are given none.
Tensor mask_of_ones(const Tensor& inputs_embeds);

}  // namespace highwater::models
