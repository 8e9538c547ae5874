// The decoder that GPT-J and CodeGen share: attention and MLP side by side after one norm
// (modeling_gptj.py, "Copied from" in modeling_codegen.py of transformers 5.12 to 5.23). They
// differ in their attention, which is a parameter here. Neither has SDPA: attention is always
// written out. Since 5.24 both are as in gptj_rotary_module.hpp.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "workloads/models/attention.hpp"
#include "workloads/models/causal_lm.hpp"
#include "workloads/models/causal_loss.hpp"
#include "workloads/models/mlp.hpp"
#include "workloads/models/positions.hpp"
#include "workloads/models/sinusoidal_rotary.hpp"
#include "workloads/nn/layers.hpp"
#include "workloads/nn/masking.hpp"
#include "workloads/plan/attention.hpp"

namespace highwater::models {

using eager::TensorList;

/// What an attention layer is given beside the hidden states; the mask dies first.
struct GptJContext {
  Tensor position_ids;
  Tensor attention_mask;
  nn::CachePtr cache;
};

/// Query or key: its first elements turned, the rest as it was.
struct PartlyRotated {
  Tensor rotated;
  Tensor rest;

  PartlyRotated(const Tensor& states, std::int64_t rotary_dim);

  /// torch.cat([rotated, rest], dim=-1), heads first.
  [[nodiscard]] Tensor joined() const;
};

/// When the mask is added to the scores: before they are scaled or after.
enum class MaskOrder : std::uint8_t { before_scale, after_scale };

/// _attn: its output is [batch, heads, seq, head dim].
AttentionResult gptj_attend(Tensor query, Tensor key, Tensor value, const Tensor& attention_mask,
                            const nn::Dropout& dropout, MaskOrder order);

/// _merge_heads.
Tensor gptj_merge_heads(const Tensor& states);

template <class Config>
MlpConfig gptj_mlp_config(const Config& config) {
  return {.width = config.n_embd,
          .inner = inner_dim_of(config),
          .activation = config.activation_function,
          .dropout = config.resid_pdrop,
          .widen = "fc_in",
          .narrow = "fc_out"};
}

template <class Attention, class Config>
class GptJBlock : public Module {
 public:
  GptJBlock(Module* parent, std::size_t index, const Config& config)
      : Module(parent, std::to_string(index)),
        ln_1_(this, "ln_1", config.n_embd),
        attn_(this, config),
        mlp_(this, gptj_mlp_config(config)) {}

  /// (hidden states, attention weights)
  TensorList operator()(Tensor hidden_states, const GptJContext& about) const {
    const nn::InModule scope(*this);
    Tensor residual = hidden_states;
    hidden_states = ln_1_(hidden_states);
    AttentionResult attention = attn_(hidden_states, about);
    Tensor attn_outputs = std::move(attention.output);
    Tensor feed_forward = mlp_(hidden_states);
    Tensor both = eager::add(attn_outputs, feed_forward);
    Tensor sum = eager::add(both, residual);
    both.reset();
    hidden_states = std::move(sum);
    eager::end_of_frame(residual, attn_outputs, feed_forward);
    return {std::move(hidden_states), std::move(attention.weights)};
  }

  void initialize_again() const { attn_.initialize_again(); }

 private:
  nn::LayerNorm ln_1_;
  Attention attn_;
  Mlp<nn::Linear> mlp_;
};

template <class Attention, class Config>
class GptJModel : public Module {
 public:
  GptJModel(Module* parent, const Config& config)
      : Module(parent, "transformer"),
        wte_(this, "wte", config.vocab_size, config.n_embd),
        drop_(this, "drop", config.embd_pdrop),
        h_(this, "h"),
        blocks_(h_, static_cast<std::size_t>(config.n_layer), config),
        ln_f_(this, "ln_f", config.n_embd) {
    for (std::size_t i = 0; i < blocks_.size(); ++i) {
      blocks_[i].initialize_again();
    }
  }

  Tensor operator()(const Inputs& inputs, const nn::CachePtr& cache) const {
    const nn::InModule scope(*this);
    Tensor inputs_embeds = wte_(inputs.input_ids);
    GptJContext about{
        eager::unsqueeze(numbered_positions(runtime(), inputs_embeds.size(1)), 0), {}, cache};
    about.attention_mask =
        nn::create_causal_mask(context(), {.inputs_embeds = inputs_embeds,
                                           .attention_mask = inputs.attention_mask,
                                           .position_ids = about.position_ids,
                                           .has_cache = cache != nullptr});
    Tensor states = drop_(inputs_embeds);
    TensorList outputs;
    for (std::size_t i = 0; i < blocks_.size(); ++i) {
      outputs = run(i, states, about);
      states = outputs[0];
    }
    states = ln_f_(states);
    states = eager::view(states, {-1, inputs_embeds.size(1), states.size(-1)});
    eager::end_of_frame(about.position_ids, inputs_embeds, about.attention_mask, outputs[1]);
    return states;
  }

  [[nodiscard]] const Tensor& embedding_weight() const { return wte_.weight; }

 private:
  TensorList run(std::size_t index, const Tensor& states, const GptJContext& about) const {
    const auto& block = blocks_[index];
    return run_tuple_block(
        block, index,
        [&block, cache = about.cache](const std::vector<Tensor>& in, const Keywords& named) {
          return block(in[0], {named[1][0], named[0][0], cache});
        },
        {states}, {{about.attention_mask}, {about.position_ids}});
  }

  nn::Embedding wte_;
  nn::Dropout drop_;
  nn::Container h_;
  nn::BlockList<GptJBlock<Attention, Config>> blocks_;
  nn::LayerNorm ln_f_;
};

inline HeadConfig gptj_head(std::int64_t width, std::int64_t vocab_size, bool is_tied) {
  return {.width = width, .vocab_size = vocab_size, .is_tied = is_tied, .bias = nn::Bias::present};
}

template <class Backbone>
class GptJForCausalLm : public CausalLm<Backbone> {
 public:
  template <class... Arguments>
  GptJForCausalLm(nn::ModelContext& context, const HeadConfig& head, const Arguments&... arguments)
      : CausalLm<Backbone>(context, head, arguments...) {
    if (head.is_tied) {
      pad_bias();
    }
  }

 private:
  // _adjust_bias of a tied head: bias.data is padded by nothing, which copies it.
  void pad_bias() {
    auto& bias = this->head().bias;
    const nn::InModule scope(this->head());
    const Tensor padded =
        eager::empty_on(this->runtime(), this->context().place, bias.sizes(), bias.dtype());
    this->runtime().categorize(padded, Category::parameter);
    bias->storage = padded->storage;
  }
};

}  // namespace highwater::models
