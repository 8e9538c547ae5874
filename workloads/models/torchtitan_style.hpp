// What decoders in torchtitan's style share: the published one of January 2025, that of 0.3, and
// the recordings' plain one.
//
// Source: torchtitan of January 2025, torchtitan/models/llama/model.py (FeedForward,
// TransformerBlock); 0.3, models/common/feed_forward.py and models/llama3/model.py.
#pragma once

#include <memory>

#include "workloads/nn/layers.hpp"
#include "workloads/plan/model/torchtitan_config.hpp"
#include "workloads/plan/pipeline/model_part.hpp"

namespace highwater::models {

/// What a feed-forward part gives to w2: F.silu(w1(x)) * w3(x).
inline nn::Tensor silu_gated(const nn::Linear& w1, const nn::Linear& w3, const nn::Tensor& x) {
  nn::Tensor active = eager::silu(w1(x));
  nn::Tensor up = w3(x);
  nn::Tensor result = eager::mul(active, up);
  eager::end_of_frame(active, up);
  return result;
}

/// h = x + attend(x); h + feed(h).
template <class Attend, class Feed>
nn::Tensor residual_block(const nn::Tensor& x, const Attend& attend, const Feed& feed) {
  nn::Tensor h;
  {
    const nn::Tensor attended = attend(x);
    h = eager::add(x, attended);
  }
  const nn::Tensor fed = feed(h);
  return eager::add(h, fed);
}

/// Null behind a pipeline's first stage.
inline std::unique_ptr<nn::Embedding> embedding_of(nn::Module* parent, const nn::ModelPart& part,
                                                   const TorchtitanConfig& config) {
  return part.has_embedding
             ? std::make_unique<nn::Embedding>(parent, "tok_embeddings", config.vocab, config.dim)
             : nullptr;
}

/// Null before a pipeline's last stage.
inline std::unique_ptr<nn::Linear> head_of(nn::Module* parent, const nn::ModelPart& part,
                                           const TorchtitanConfig& config) {
  return part.has_head ? std::make_unique<nn::Linear>(parent, "output", config.dim, config.vocab,
                                                      nn::Bias::none)
                       : nullptr;
}

}  // namespace highwater::models
