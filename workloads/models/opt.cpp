// OPT (transformers 5.12, models/opt/modeling_opt.py); opt-350m norms after its sublayers and has
// narrower word embeddings, which are projected.
#include "workloads/plan/model/families/opt.hpp"

#include <utility>

#include "workloads/models/bart_attention.hpp"
#include "workloads/models/causal_lm.hpp"
#include "workloads/models/causal_loss.hpp"
#include "workloads/nn/masking.hpp"

namespace highwater::models {

namespace {

BartAttentionConfig attention_of(const OptConfig& config) {
  return {.hidden_size = config.hidden_size,
          .heads = config.num_attention_heads,
          .dropout = config.attention_dropout,
          .has_bias = config.enable_bias,
          .scales_query = true,
          .fp32_softmax = true};
}

bool has_final_norm(const OptConfig& config) {
  return config.do_layer_norm_before && !config.remove_final_layer_norm;
}

class OptDecoderLayer : public Module {
 public:
  OptDecoderLayer(Module* parent, std::size_t index, const OptConfig& config)
      : Module(parent, std::to_string(index)),
        config_(config),
        self_attn_(this, attention_of(config)),
        activation_fn_(this, "activation_fn", config.activation_function),
        self_attn_layer_norm_(this, "self_attn_layer_norm", config.hidden_size,
                              config.layer_norm_elementwise_affine),
        fc1_(this, "fc1", config.hidden_size, config.ffn_dim, nn::bias_if(config.enable_bias)),
        fc2_(this, "fc2", config.ffn_dim, config.hidden_size, nn::bias_if(config.enable_bias)),
        final_layer_norm_(this, "final_layer_norm", config.hidden_size,
                          config.layer_norm_elementwise_affine) {}

  Tensor operator()(Tensor hidden_states, const Tensor& mask, const nn::CachePtr& cache) const {
    const nn::InModule scope(*this);
    Tensor residual = hidden_states;
    if (config_.do_layer_norm_before) {
      hidden_states = self_attn_layer_norm_(hidden_states);
    }
    auto [attention, weights] = self_attn_(hidden_states, mask, cache);
    hidden_states = std::move(attention);
    hidden_states = nn::functional_dropout(context(), hidden_states, config_.dropout);
    hidden_states = eager::add(residual, hidden_states);
    if (!config_.do_layer_norm_before) {
      hidden_states = self_attn_layer_norm_(hidden_states);
    }
    const Dims shape = hidden_states.sizes();
    hidden_states = eager::reshape(hidden_states, {-1, hidden_states.size(-1)});
    residual = hidden_states;
    hidden_states = feed_forward(std::move(hidden_states));
    hidden_states = eager::view(eager::add(residual, hidden_states), shape);
    if (!config_.do_layer_norm_before) {
      hidden_states = final_layer_norm_(hidden_states);
    }
    eager::end_of_frame(residual, weights);
    return hidden_states;
  }

 private:
  Tensor feed_forward(Tensor hidden_states) const {
    if (config_.do_layer_norm_before) {
      hidden_states = final_layer_norm_(hidden_states);
    }
    hidden_states = fc1_(hidden_states);
    hidden_states = activation_fn_(hidden_states);
    hidden_states = fc2_(hidden_states);
    return nn::functional_dropout(context(), hidden_states, config_.dropout);
  }

  OptConfig config_;
  BartAttention self_attn_;
  nn::ActivationFunction activation_fn_;
  nn::LayerNorm self_attn_layer_norm_;
  nn::Linear fc1_;
  nn::Linear fc2_;
  nn::LayerNorm final_layer_norm_;
};

class OptDecoder : public Module {
 public:
  OptDecoder(Module* parent, const OptConfig& config)
      : Module(parent, "decoder"),
        embed_tokens_(this, "embed_tokens", config.vocab_size, word_embed_dim_of(config)),
        embed_positions_(this, config.max_position_embeddings, config.hidden_size),
        project_out_(projection("project_out", config.hidden_size, word_embed_dim_of(config))),
        project_in_(projection("project_in", word_embed_dim_of(config), config.hidden_size)),
        final_layer_norm_(final_norm(config)),
        layers_(this, "layers"),
        blocks_(layers_, static_cast<std::size_t>(config.num_hidden_layers), config) {}

  Tensor operator()(const Inputs& inputs, const nn::CachePtr& cache) const {
    const nn::InModule scope(*this);
    Tensor inputs_embeds = embed_tokens_(inputs.input_ids);
    Tensor attention_mask =
        inputs.attention_mask.defined() ? inputs.attention_mask : mask_of_ones(inputs_embeds);
    Tensor position_ids =
        inputs.positions.defined() ? inputs.positions : positions_of(attention_mask);
    // Since 5.18 ones that nobody gave only number the positions, in a variable of their own.
    const bool asks_about_ones = runtime().transformers < Release{5, 18};
    Tensor mask = nn::create_causal_mask(
        context(), {.inputs_embeds = inputs_embeds,
                    .attention_mask = asks_about_ones ? attention_mask : inputs.attention_mask,
                    .position_ids = {},
                    .has_cache = cache != nullptr});
    Tensor pos_embeds = embed_positions_(position_ids);
    if (project_in_) {
      inputs_embeds = (*project_in_)(inputs_embeds);
    }
    Tensor states =
        run_bart_layers(blocks_, eager::add(inputs_embeds, pos_embeds), mask, position_ids, cache);
    if (final_layer_norm_) {
      states = (*final_layer_norm_)(states);
    }
    if (project_out_) {
      states = (*project_out_)(states);
    }
    if (asks_about_ones) {
      attention_mask.reset();
    }
    eager::end_of_frame(inputs_embeds, position_ids, attention_mask, mask, pos_embeds);
    return states;
  }

  [[nodiscard]] const Tensor& embedding_weight() const { return embed_tokens_.weight; }

 private:
  std::unique_ptr<nn::Linear> projection(std::string name, std::int64_t in, std::int64_t out) {
    if (in == out) {
      return nullptr;
    }
    return std::make_unique<nn::Linear>(this, std::move(name), in, out, nn::Bias::none);
  }

  std::unique_ptr<nn::LayerNorm> final_norm(const OptConfig& config) {
    if (!has_final_norm(config)) {
      return nullptr;
    }
    return std::make_unique<nn::LayerNorm>(this, "final_layer_norm", config.hidden_size,
                                           config.layer_norm_elementwise_affine);
  }

  // (cumsum(mask) * mask - 1).long()[:, past:]
  static Tensor positions_of(const Tensor& attention_mask) {
    const Tensor counts = eager::cumsum(attention_mask, 1);
    Tensor product = eager::mul(counts, attention_mask);
    const Tensor shifted = eager::add(product, -1.0);
    product.reset();
    const Tensor ids = eager::to_dtype(shifted, DType::int64);
    return eager::slice(eager::slice(ids, 0, 0, eager::kEnd), 1, 0, eager::kEnd);
  }

  nn::Embedding embed_tokens_;
  OffsetPositionalEmbedding embed_positions_;
  std::unique_ptr<nn::Linear> project_out_;
  std::unique_ptr<nn::Linear> project_in_;
  std::unique_ptr<nn::LayerNorm> final_layer_norm_;
  nn::Container layers_;
  nn::BlockList<OptDecoderLayer> blocks_;
};

/// OPTModel, which only holds the decoder.
class OptModel : public Module {
 public:
  OptModel(Module* parent, const OptConfig& config)
      : Module(parent, "model"), decoder_(this, config) {}

  Tensor operator()(const Inputs& inputs, const nn::CachePtr& cache) const {
    return decoder_(inputs, cache);
  }

  [[nodiscard]] const Tensor& embedding_weight() const { return decoder_.embedding_weight(); }

 private:
  OptDecoder decoder_;
};

}  // namespace

std::unique_ptr<LanguageModel> make_model(nn::ModelContext& context, const OptConfig& config) {
  return std::make_unique<CausalLm<OptModel>>(context,
                                              HeadConfig{.width = word_embed_dim_of(config),
                                                         .vocab_size = config.vocab_size,
                                                         .is_tied = config.tie_word_embeddings},
                                              config);
}

}  // namespace highwater::models
