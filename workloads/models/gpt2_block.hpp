// The block that GPT-2 and GPTBigCode share (GPT2Block, GPTBigCodeBlock in transformers 5.12): they
// differ in their attention and in the class of the MLP's projections, which are parameters here.
#pragma once

#include <string>
#include <utility>

#include "workloads/models/attention.hpp"
#include "workloads/models/mlp.hpp"
#include "workloads/nn/cache.hpp"
#include "workloads/nn/layers.hpp"
#include "workloads/plan/attention.hpp"

namespace highwater::models {

template <class Attention, class Projection>
class Gpt2Block : public nn::Module {
 public:
  template <class Config>
  Gpt2Block(nn::Module* parent, std::size_t index, const Config& config)
      : Module(parent, std::to_string(index)),
        ln_1_(this, "ln_1", config.n_embd),
        attn_(this, config),
        ln_2_(this, "ln_2", config.n_embd),
        mlp_(this, {.width = config.n_embd,
                    .inner = inner_dim_of(config),
                    .activation = config.activation_function,
                    .dropout = config.resid_pdrop}) {}

  nn::Tensor operator()(nn::Tensor hidden_states, const nn::Tensor& attention_mask,
                        const nn::CachePtr& cache) const {
    const nn::InModule scope(*this);
    nn::Tensor residual = hidden_states;
    hidden_states = ln_1_(hidden_states);
    AttentionResult attention = attn_(hidden_states, attention_mask, cache);
    hidden_states = eager::add(attention.output, residual);
    residual = hidden_states;
    hidden_states = ln_2_(hidden_states);
    nn::Tensor feed_forward = mlp_(hidden_states);
    hidden_states = eager::add(residual, feed_forward);
    eager::end_of_frame(residual, attention.output, attention.weights, feed_forward);
    return hidden_states;
  }

 private:
  nn::LayerNorm ln_1_;
  Attention attn_;
  nn::LayerNorm ln_2_;
  Mlp<Projection> mlp_;
};

}  // namespace highwater::models
