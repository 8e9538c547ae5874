// BioGPT (transformers 5.12, models/biogpt/modeling_biogpt.py).
#include "workloads/plan/model/families/biogpt.hpp"

#include <utility>

#include "workloads/models/bart_attention.hpp"
#include "workloads/models/causal_lm.hpp"
#include "workloads/models/causal_loss.hpp"
#include "workloads/models/positions.hpp"
#include "workloads/nn/masking.hpp"

namespace highwater::models {

namespace {

BartAttentionConfig attention_of(const BioGptConfig& config) {
  return {.hidden_size = config.hidden_size,
          .heads = config.num_attention_heads,
          .dropout = config.attention_probs_dropout_prob};
}

class BioGptDecoderLayer : public Module {
 public:
  BioGptDecoderLayer(Module* parent, std::size_t index, const BioGptConfig& config)
      : Module(parent, std::to_string(index)),
        config_(config),
        self_attn_(this, attention_of(config)),
        activation_fn_(this, "activation_fn", config.hidden_act),
        self_attn_layer_norm_(this, "self_attn_layer_norm", config.hidden_size),
        fc1_(this, "fc1", config.hidden_size, config.intermediate_size),
        fc2_(this, "fc2", config.intermediate_size, config.hidden_size),
        final_layer_norm_(this, "final_layer_norm", config.hidden_size) {}

  Tensor operator()(Tensor hidden_states, const Tensor& mask, const nn::CachePtr& cache) const {
    const nn::InModule scope(*this);
    Tensor residual = hidden_states;
    hidden_states = self_attn_layer_norm_(hidden_states);
    auto [attention, weights] = self_attn_(hidden_states, mask, cache);
    hidden_states = std::move(attention);
    hidden_states = dropped(hidden_states, config_.hidden_dropout_prob);
    hidden_states = eager::add(residual, hidden_states);
    residual = hidden_states;
    hidden_states = final_layer_norm_(hidden_states);
    hidden_states = fc1_(hidden_states);
    hidden_states = activation_fn_(hidden_states);
    hidden_states = dropped(hidden_states, config_.activation_dropout);
    hidden_states = fc2_(hidden_states);
    hidden_states = dropped(hidden_states, config_.hidden_dropout_prob);
    hidden_states = eager::add(residual, hidden_states);
    eager::end_of_frame(residual, weights);
    return hidden_states;
  }

 private:
  Tensor dropped(const Tensor& x, double p) const {
    return nn::functional_dropout(context(), x, p);
  }

  BioGptConfig config_;
  BartAttention self_attn_;
  nn::ActivationFunction activation_fn_;
  nn::LayerNorm self_attn_layer_norm_;
  nn::Linear fc1_;
  nn::Linear fc2_;
  nn::LayerNorm final_layer_norm_;
};

class BioGptModel : public Module {
 public:
  BioGptModel(Module* parent, const BioGptConfig& config)
      : Module(parent, "biogpt"),
        dropout_(config.hidden_dropout_prob),
        embed_tokens_(this, "embed_tokens", config.vocab_size, config.hidden_size),
        embed_positions_(this, config.max_position_embeddings, config.hidden_size),
        layers_(this, "layers"),
        blocks_(layers_, static_cast<std::size_t>(config.num_hidden_layers), config),
        layer_norm_(this, "layer_norm", config.hidden_size) {}

  Tensor operator()(const Inputs& inputs, const nn::CachePtr& cache) const {
    const nn::InModule scope(*this);
    // BioGptScaledWordEmbedding multiplies whatever the scale is.
    Tensor inputs_embeds = eager::mul(embed_tokens_(inputs.input_ids), 1.0);
    Tensor attention_mask =
        inputs.attention_mask.defined() ? inputs.attention_mask : mask_of_ones(inputs_embeds);
    Tensor mask = nn::create_causal_mask(context(), {.inputs_embeds = inputs_embeds,
                                                     .attention_mask = attention_mask,
                                                     .position_ids = {},
                                                     .has_cache = cache != nullptr});
    Tensor position_ids = position_ids_of(inputs, runtime(), inputs_embeds.size(1));
    Tensor position_embeds = embed_positions_(position_ids);
    Tensor states = eager::add(inputs_embeds, position_embeds);
    states = nn::functional_dropout(context(), states, dropout_);
    states = run_bart_layers(blocks_, std::move(states), mask, position_ids, cache);
    states = layer_norm_(states);
    eager::end_of_frame(attention_mask, inputs_embeds, position_ids, mask, position_embeds);
    return states;
  }

  [[nodiscard]] const Tensor& embedding_weight() const { return embed_tokens_.weight; }

 private:
  double dropout_;
  nn::Embedding embed_tokens_;
  OffsetPositionalEmbedding embed_positions_;
  nn::Container layers_;
  nn::BlockList<BioGptDecoderLayer> blocks_;
  nn::LayerNorm layer_norm_;
};

}  // namespace

std::unique_ptr<LanguageModel> make_model(nn::ModelContext& context, const BioGptConfig& config) {
  return std::make_unique<CausalLm<BioGptModel>>(context,
                                                 HeadConfig{.width = config.hidden_size,
                                                            .vocab_size = config.vocab_size,
                                                            .is_tied = config.tie_word_embeddings,
                                                            .name = "output_projection"},
                                                 config);
}

}  // namespace highwater::models
