// LLaMA and the families that share its decoder: Mistral, Qwen2, Qwen3, Gemma (transformers 5.12,
// models/<family>/modeling_<family>.py).
#include "workloads/plan/model/families/llama.hpp"

#include <utility>

#include "workloads/models/causal_lm.hpp"
#include "workloads/models/causal_loss.hpp"
#include "workloads/models/decoder.hpp"
#include "workloads/models/positions.hpp"
#include "workloads/models/rms_norm.hpp"
#include "workloads/nn/device_copies.hpp"
#include "workloads/nn/layers.hpp"
#include "workloads/nn/masking.hpp"
#include "workloads/plan/pipeline/model_split.hpp"

namespace highwater::models {

namespace {

NormKind norm_of(const LlamaConfig& config) {
  return config.code->is_gemma ? NormKind::gemma : NormKind::llama;
}

// Which projections have a bias.
nn::Bias qkv_bias(const LlamaConfig& config) {
  return nn::bias_if(config.attention_bias || config.code->has_qkv_bias);
}

nn::Bias output_bias(const LlamaConfig& config) {
  return nn::bias_if(config.attention_bias && !config.code->has_qkv_bias);
}

class LlamaAttention : public Module {
 public:
  LlamaAttention(Module* parent, const LlamaConfig& config)
      : Module(parent, "self_attn"),
        head_dim_(head_dim_of(config)),
        groups_(config.num_attention_heads / kv_heads_of(config)),
        dropout_(config.attention_dropout),
        q_proj_(this, "q_proj", config.hidden_size, config.num_attention_heads * head_dim_,
                qkv_bias(config)),
        k_proj_(this, "k_proj", config.hidden_size, kv_heads_of(config) * head_dim_,
                qkv_bias(config)),
        v_proj_(this, "v_proj", config.hidden_size, kv_heads_of(config) * head_dim_,
                qkv_bias(config)),
        o_proj_(this, "o_proj", config.num_attention_heads * head_dim_, config.hidden_size,
                output_bias(config)) {
    if (config.code->has_qk_norm) {
      q_norm_ = std::make_unique<RmsNorm>(this, "q_norm", head_dim_, NormKind::llama);
      k_norm_ = std::make_unique<RmsNorm>(this, "k_norm", head_dim_, NormKind::llama);
    }
  }

  AttentionResult operator()(Tensor hidden_states, const BlockInputs& inputs) const {
    const nn::InModule scope(*this);
    Tensor query = project(q_proj_, q_norm_.get(), hidden_states);
    Tensor key = project(k_proj_, k_norm_.get(), hidden_states);
    Tensor value = project(v_proj_, nullptr, hidden_states);
    rotate(query, key, inputs.positions);
    if (inputs.cache && inputs.slides) {
      inputs.cache->update_sliding(key, value);
    } else if (inputs.cache) {
      inputs.cache->update(key, value);
    }
    AttentionResult result = attend(query, key, value, inputs.mask);
    auto& output = result.output;
    output = eager::contiguous(eager::reshape(output, {output.size(0), output.size(1), -1}));
    output = o_proj_(output);
    eager::end_of_frame(hidden_states, query, key, value);
    return result;
  }

 private:
  Tensor project(const nn::Linear& projection, const RmsNorm* norm, const Tensor& x) const {
    Tensor states = eager::view(projection(x), {x.size(0), x.size(1), -1, head_dim_});
    if (norm != nullptr) {
      states = (*norm)(states);
    }
    return eager::transpose(states, 1, 2);
  }

  // apply_rotary_pos_emb: both results exist before query and key are bound again.
  static void rotate(Tensor& query, Tensor& key, const CosSin& positions) {
    const Tensor cos = eager::unsqueeze(positions.cos, 1);
    const Tensor sin = eager::unsqueeze(positions.sin, 1);
    Tensor rotated_query = apply_rotary(query, cos, sin);
    Tensor rotated_key = apply_rotary(key, cos, sin);
    query = std::move(rotated_query);
    key = std::move(rotated_key);
  }

  AttentionResult attend(const Tensor& query, const Tensor& key, const Tensor& value,
                         const Tensor& mask) const {
    AttentionCall call{.query = query,
                       .key = key,
                       .value = value,
                       .mask = mask,
                       .dropout = context().training ? context().dropout(dropout_) : 0.0,
                       .groups = groups_,
                       .is_grouped = true};
    return context().is_eager() ? eager_attention_fp32(context(), std::move(call))
                                : sdpa_attention(context(), std::move(call));
  }

  std::int64_t head_dim_;
  std::int64_t groups_;
  double dropout_;
  nn::Linear q_proj_;
  nn::Linear k_proj_;
  nn::Linear v_proj_;
  nn::Linear o_proj_;
  std::unique_ptr<RmsNorm> q_norm_;
  std::unique_ptr<RmsNorm> k_norm_;
};

class GatedMlp : public FeedForward {
 public:
  GatedMlp(Module* parent, std::string name, const LlamaConfig& config, std::int64_t width)
      : FeedForward(parent, std::move(name)),
        gate_proj_(this, "gate_proj", config.hidden_size, width, nn::bias_if(config.mlp_bias)),
        up_proj_(this, "up_proj", config.hidden_size, width, nn::bias_if(config.mlp_bias)),
        down_proj_(this, "down_proj", width, config.hidden_size, nn::bias_if(config.mlp_bias)),
        act_fn_(this, "act_fn", config.hidden_act) {}

  Tensor operator()(Tensor x) const override {
    const nn::InModule scope(*this);
    return down_proj_(product(x));
  }

 private:
  Tensor product(const Tensor& x) const {
    Tensor gate = gate_proj_(x);
    Tensor active = act_fn_(gate);
    gate.reset();
    Tensor up = up_proj_(x);
    Tensor result = eager::mul(active, up);
    eager::end_of_frame(active, up);
    return result;
  }

  nn::Linear gate_proj_;
  nn::Linear up_proj_;
  nn::Linear down_proj_;
  nn::ActivationFunction act_fn_;
};

class LlamaDecoderLayer : public DecoderLayer {
 public:
  LlamaDecoderLayer(Module* parent, std::int64_t index, const LlamaConfig& config,
                    const FeedForwardMaker& make_mlp)
      : DecoderLayer(parent, std::to_string(index)),
        self_attn_(this, config),
        mlp_(make_mlp(this)),
        input_layernorm_(this, "input_layernorm", config.hidden_size, norm_of(config)),
        post_attention_layernorm_(this, "post_attention_layernorm", config.hidden_size,
                                  norm_of(config)) {}

  Tensor operator()(Tensor hidden_states, const BlockInputs& inputs) const override {
    const nn::InModule scope(*this);
    Tensor residual = hidden_states;
    hidden_states = input_layernorm_(hidden_states);
    auto [attended, weights] = self_attn_(hidden_states, inputs);
    hidden_states = std::move(attended);
    hidden_states = eager::add(residual, hidden_states);
    residual = hidden_states;
    hidden_states = post_attention_layernorm_(hidden_states);
    hidden_states = (*mlp_)(hidden_states);
    hidden_states = eager::add(residual, hidden_states);
    eager::end_of_frame(residual, weights);
    return hidden_states;
  }

 private:
  LlamaAttention self_attn_;
  std::unique_ptr<FeedForward> mlp_;
  RmsNorm input_layernorm_;
  RmsNorm post_attention_layernorm_;
};

// Gemma's embedding is scaled by a buffer.
class TokenEmbedding : public nn::Embedding {
 public:
  TokenEmbedding(Module* parent, const LlamaConfig& config)
      : Embedding(parent, "embed_tokens", config.vocab_size, config.hidden_size) {
    if (config.code->is_gemma) {
      const nn::InModule scope(*this);
      scale_ = eager::empty_on(runtime(), context().place, {}, context().dtype);
      register_buffer("embed_scale", scale_);
    }
  }

  Tensor embed(const Tensor& input_ids) const {
    if (!scale_.defined()) {
      return (*this)(input_ids);
    }
    const eager::Scoped<std::uint32_t> naming(runtime().module, site());  // look_up is the call
    return hooked(eager::mul(look_up(input_ids), eager::to_dtype(scale_, weight.dtype())));
  }

 private:
  Tensor scale_;
};

/// The variables of the model's frame.
struct ModelFrame {
  Tensor inputs_embeds;
  Tensor position_ids;
  Tensor mask;
  Tensor sliding_mask;
  CosSin tables;
  nn::CachePtr cache;
};

class LlamaModel : public Module {
 public:
  LlamaModel(Module* parent, const LlamaConfig& config, const LayerMaker& make_layer)
      : Module(parent, "model"),
        config_(config),
        part_(context().part_of(config.num_hidden_layers)),
        embed_tokens_(make_embedding(config)),
        layers_(this, "layers"),
        blocks_(make_blocks(layers_, part_, make_layer)),
        norm_(make_norm(config)) {
    // Of a model that is spread over devices the first one makes the tables.
    if (part_.has_embedding || !pipelining::is_naive(context().plan.parallel)) {
      rotary_emb_ = std::make_unique<RotaryEmbedding>(this, head_dim_of(config),
                                                      config.rope_parameters.rope_type);
      rotary_emb_->initialize_again();
    }
  }

  Tensor operator()(const Inputs& inputs, const nn::CachePtr& cache) const {
    const nn::InModule scope(*this);
    ModelFrame frame;
    frame.cache = cache;
    frame.inputs_embeds =
        embed_tokens_ ? embed_tokens_->embed(inputs.input_ids) : inputs.hidden_states;
    Tensor states = frame.inputs_embeds;
    if (!is_elsewhere(states)) {
      frame.position_ids = position_ids_of(inputs, runtime(), states.size(1));
      make_masks(frame, inputs.attention_mask);
      frame.tables = (*rotary_emb_)(states, frame.position_ids);
    }
    for (std::size_t i = 0; i < blocks_.size(); ++i) {
      states = frame.position_ids.defined() ? run(i, states, frame) : run_apart(i, states);
    }
    if (!norm_ && pipelining::is_naive(context().plan.parallel)) {
      states = pipelining::to_elsewhere(states);  // the next device's hook
    }
    if (norm_) {
      states = (*norm_)(states);
    }
    end(frame);
    return states;
  }

  /// @pre the part has the embedding
  [[nodiscard]] const Tensor& embedding_weight() const { return embed_tokens_->weight; }

 private:
  std::unique_ptr<TokenEmbedding> make_embedding(const LlamaConfig& config) {
    return part_.has_embedding ? std::make_unique<TokenEmbedding>(this, config) : nullptr;
  }

  std::unique_ptr<RmsNorm> make_norm(const LlamaConfig& config) {
    const bool ends_the_model = part_.first_layer + part_.layers == config.num_hidden_layers;
    return ends_the_model
               ? std::make_unique<RmsNorm>(this, "norm", config.hidden_size, norm_of(config))
               : nullptr;
  }

  static std::vector<std::unique_ptr<DecoderLayer>> make_blocks(Module& parent,
                                                                const nn::ModelPart& part,
                                                                const LayerMaker& make_layer) {
    std::vector<std::unique_ptr<DecoderLayer>> blocks;
    for (std::int64_t i = 0; i < part.layers; ++i) {
      blocks.push_back(make_layer(&parent, part.first_layer + i));
    }
    return blocks;
  }

  void make_masks(ModelFrame& frame, const Tensor& attention_mask) const {
    nn::MaskRequest request{.inputs_embeds = frame.inputs_embeds,
                            .attention_mask = attention_mask,
                            .position_ids = frame.position_ids,
                            .has_cache = frame.cache != nullptr};
    if (!config_.code->has_mask_per_kind) {
      request.sliding_window = window_of(config_, 0);
      frame.mask = nn::create_causal_mask(context(), request);
      return;
    }
    frame.mask = nn::create_causal_mask(context(), request);
    request.sliding_window = any_window();
    if (request.sliding_window) {
      frame.sliding_mask = nn::create_causal_mask(context(), request);
    }
  }

  std::optional<std::int64_t> any_window() const {
    for (std::int64_t i = 0; i < config_.num_hidden_layers; ++i) {
      if (const auto window = window_of(config_, i)) {
        return window;
      }
    }
    return std::nullopt;
  }

  Tensor run(std::size_t position, const Tensor& states, const ModelFrame& frame) const {
    const auto& block = *blocks_[position];
    const std::size_t index = position + static_cast<std::size_t>(part_.first_layer);
    const bool slides = window_of(config_, static_cast<std::int64_t>(index)).has_value();
    const Tensor mask = config_.code->has_mask_per_kind && slides ? frame.sliding_mask : frame.mask;
    return run_block(
        block, index,
        [&block, slides, cache = frame.cache, first = tables_at(),
         keywords = in_source_order(mask, frame)](const std::vector<Tensor>& in) {
          return block(in[0], {.positions = {.cos = keywords[first + 1], .sin = keywords[first]},
                               .mask = keywords[0],
                               .cache = cache,
                               .slides = slides});
        },
        {states});
  }

  // Of a model that is spread over devices: positions and tables are made on another one.
  static bool is_elsewhere(const Tensor& states) { return states.place() != eager::Place::cuda; }

  // A block on another device than the first: the hook on each block copies its keyword arguments
  // to the device again, and the first block's hook the hidden states.
  Tensor run_apart(std::size_t position, const Tensor& states) const {
    Tensor own = is_elsewhere(states) ? pipelining::from_elsewhere(states) : states;
    const bool ids_come_first = tables_at() == 2;
    Tensor position_ids;
    const auto copy_ids = [&] {
      position_ids = eager::empty(runtime(), {1, states.size(1)}, DType::int64);
    };
    if (ids_come_first) {
      copy_ids();
    }
    const Dims table{1, states.size(1), head_dim_of(config_)};
    CosSin positions;
    positions.cos = eager::empty(runtime(), table, states.dtype());
    positions.sin = eager::empty(runtime(), table, states.dtype());
    if (!ids_come_first) {
      copy_ids();
    }
    Tensor result = (*blocks_[position])(own, {.positions = positions});
    eager::end_of_frame(own);
    if (ids_come_first) {
      eager::end_of_frame(position_ids);
    }
    eager::end_of_frame(positions.sin, positions.cos, position_ids);
    return result;
  }

  // Mistral and Gemma name position_ids before the tables, LLaMA and Qwen after them.
  [[nodiscard]] std::size_t tables_at() const { return config_.code->names_positions_last ? 1 : 2; }

  // A checkpoint keeps the keyword arguments; they die in the order in which the call names them,
  // a tuple from its end.
  [[nodiscard]] std::vector<Tensor> in_source_order(const Tensor& mask,
                                                    const ModelFrame& frame) const {
    std::vector<Tensor> keywords{mask, frame.tables.sin, frame.tables.cos};
    keywords.insert(tables_at() == 1 ? keywords.end() : keywords.begin() + 1, frame.position_ids);
    return keywords;
  }

  void end(ModelFrame& frame) const {
    if (config_.code->has_mask_per_kind) {
      eager::end_of_frame(frame.mask, frame.sliding_mask, frame.inputs_embeds, frame.position_ids);
    } else {
      eager::end_of_frame(frame.position_ids, frame.inputs_embeds, frame.mask);
    }
    eager::end_of_frame(frame.tables.sin, frame.tables.cos);
  }

  LlamaConfig config_;
  nn::ModelPart part_;
  std::unique_ptr<TokenEmbedding> embed_tokens_;  ///< null behind a pipeline's first stage
  nn::Container layers_;
  std::vector<std::unique_ptr<DecoderLayer>> blocks_;
  std::unique_ptr<RmsNorm> norm_;  ///< null before a pipeline's last stage
  std::unique_ptr<RotaryEmbedding> rotary_emb_;
};

}  // namespace

std::unique_ptr<FeedForward> make_gated_mlp(Module* parent, std::string name,
                                            const LlamaConfig& config,
                                            std::int64_t intermediate_size) {
  return std::make_unique<GatedMlp>(parent, std::move(name), config, intermediate_size);
}

std::unique_ptr<LanguageModel> make_decoder(nn::ModelContext& context, const LlamaConfig& config,
                                            const LayerMaker& make_layer) {
  return std::make_unique<CausalLm<LlamaModel>>(context,
                                                HeadConfig{.width = config.hidden_size,
                                                           .vocab_size = config.vocab_size,
                                                           .is_tied = config.tie_word_embeddings},
                                                config, make_layer);
}

std::unique_ptr<LanguageModel> make_llama_with(nn::ModelContext& context, const LlamaConfig& config,
                                               const FeedForwardMaker& make_mlp) {
  return make_decoder(context, config, [&](Module* parent, std::int64_t index) {
    return std::make_unique<LlamaDecoderLayer>(parent, index, config, make_mlp);
  });
}

std::unique_ptr<LanguageModel> make_model(nn::ModelContext& context, const LlamaConfig& config) {
  return make_llama_with(context, config, [&](Module* parent) {
    return make_gated_mlp(parent, "mlp", config, config.intermediate_size);
  });
}

}  // namespace highwater::models
