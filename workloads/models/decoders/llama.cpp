// The model around the blocks of LLaMA and of the families that share its decoder
// (transformers 5.12 to 5.23, models/<family>/modeling_<family>.py): embedding, masks, rotary
// tables, last norm.
#include "workloads/plan/model/families/llama.hpp"

#include <utility>

#include "workloads/models/causal_lm.hpp"
#include "workloads/models/causal_loss.hpp"
#include "workloads/models/decoders/decoder.hpp"
#include "workloads/models/decoders/family_dropout.hpp"
#include "workloads/models/decoders/layer_inputs.hpp"
#include "workloads/models/decoders/mixture.hpp"
#include "workloads/models/norm.hpp"
#include "workloads/models/positions.hpp"
#include "workloads/nn/layers.hpp"
#include "workloads/nn/masking.hpp"

namespace highwater::models {

namespace {

LogitsCode logits_code_of(const LlamaConfig& config) {
  const bool is_cap = config.code->logits == LogitsCode::soft_capped ||
                      config.code->logits == LogitsCode::wide_soft_capped;
  const bool is_off = is_cap && !config.final_logit_softcapping;
  return is_off ? LogitsCode::plain : config.code->logits;
}

/// The variables of the model's frame.
struct ModelFrame {
  Tensor inputs_embeds;
  Tensor layer_inputs;  ///< Gemma 4's, of all layers
  Tensor position_ids;
  Tensor mask;
  Tensor sliding_mask;
  CosSin tables;
  Tensor query_scale;     ///< of layers without positions: Beam
  CosSin sliding_tables;  ///< of layers with a window, where kinds have tables of their own
  nn::CachePtr cache;
  SharedStatesPtr shared;  ///< Gemma 4's
};

class LlamaModel : public Module {
 public:
  LlamaModel(Module* parent, const LlamaConfig& config, const LayerMaker& make_layer)
      : Module(parent, config.code->model_name),
        config_(config),
        part_(context().part_of(config.num_hidden_layers)),
        embed_tokens_(make_embedding(config)),  // NOLINT(clang-analyzer-cplusplus.NewDeleteLeaks)
        layers_(this, "layers"),
        blocks_(make_blocks(layers_, part_, make_layer)),
        // NOLINTNEXTLINE(clang-analyzer-cplusplus.NewDeleteLeaks)
        norm_(config.code->makes_last_norm_last ? nullptr : make_norm(config)) {
    rotary_emb_ = make_rotary(this, "rotary_emb");
    if (config.code->has_unused_tables) {
      rotary_embs_ = std::make_unique<nn::Container>(this, "rotary_embs");
      used_rotary_ = make_rotary(rotary_embs_.get(), "0");
    }
    if (config.code->makes_last_norm_last) {
      norm_ = make_norm(config);
    }
    if (config.layer_input_width > 0) {
      layer_inputs_ = std::make_unique<LayerInputs>(this, config);
    }
    for (const auto* const rotary : {rotary_emb_.get(), used_rotary_.get()}) {
      if (rotary != nullptr) {
        rotary->initialize_again();
      }
    }
  }

  Tensor operator()(const Inputs& inputs, const nn::CachePtr& cache) const {
    const nn::InModule scope(*this);
    ModelFrame frame;
    frame.cache = cache;
    frame.inputs_embeds =
        embed_tokens_ ? embed_tokens_->embed(inputs.input_ids) : inputs.hidden_states;
    if (layer_inputs_) {
      frame.layer_inputs = (*layer_inputs_)(inputs.input_ids, frame.inputs_embeds);
    }
    if (config_.code->multiplies_embedding) {
      frame.inputs_embeds = eager::mul(frame.inputs_embeds, 1.0);
    }
    Tensor states = frame.inputs_embeds;
    frame.position_ids = position_ids_of(inputs, runtime(), states.size(1));
    make_masks(frame, inputs.attention_mask);
    if (config_.code->multiplies_embedding_late) {
      frame.inputs_embeds = eager::mul(frame.inputs_embeds, 1.0);
      states = frame.inputs_embeds;
    }
    states = dropped(frame);
    if (config_.code->multiplies_states) {
      states = eager::mul(states, 1.0);
    }
    make_tables(frame, states);
    if (config_.code->attention == AttentionCode::normed_values &&
        runtime().transformers >= Release{5, 24}) {
      frame.shared = std::make_shared<SharedStates>();
    }
    for (std::size_t i = 0; i < blocks_.size(); ++i) {
      states = run(i, states, frame);
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
    return part_.has_embedding ? make_token_embedding(this, config) : nullptr;
  }

  [[nodiscard]] RotaryKind kind_without_window() const {
    const std::int64_t width = *config_.global_head_dim;
    const double share = config_.rope_parameters.partial_rotary_factor;
    const auto angles = static_cast<std::int64_t>(share * static_cast<double>(width) / 2.0);
    return {.width = width, .turned = 2 * angles, .type = RopeType::proportional};
  }

  [[nodiscard]] RotaryKind kind_with_window() const {
    return {.width = head_dim_of(config_), .turned = head_dim_of(config_)};
  }

  std::unique_ptr<RotaryEmbedding> make_rotary(Module* parent, const char* name) {
    if (config_.global_head_dim) {
      return std::make_unique<RotaryEmbedding>(parent, kind_without_window(), kind_with_window());
    }
    return std::make_unique<RotaryEmbedding>(parent, rotary_dim_of(config_),
                                             config_.rope_parameters.rope_type,
                                             config_.code->tables, name);
  }

  std::unique_ptr<Norm> make_norm(const LlamaConfig& config) {
    const bool ends_the_model = part_.first_layer + part_.layers == config.num_hidden_layers;
    return ends_the_model ? std::make_unique<Norm>(this, config.code->last_norm_name,
                                                   config.hidden_size, config.code->norm)
                          : nullptr;
  }

  // The embedding behind its dropout, which has the embedding's name or one of its own.
  Tensor dropped(ModelFrame& frame) const {
    const FamilyDropout dropout(config_, FieldRole::embedding_dropout, config_.embedding_dropout);
    Tensor states = dropout(context(), frame.inputs_embeds);
    if (!config_.code->names_hidden_dropout) {
      frame.inputs_embeds = states;
    }
    return states;
  }

  // torch.exp(0.1 * torch.log1p((position_ids.float() + 1) / 2048))[:, None, :, None]
  static Tensor scale_of(const Tensor& position_ids) {
    Tensor numbers = eager::to_dtype(position_ids, DType::fp32);
    for (const char* op : {"add", "div", "log1p", "mul", "exp"}) {
      numbers = eager::pointwise(op, {numbers}, DType::fp32);
    }
    return eager::unsqueeze(eager::unsqueeze(numbers, 1), 3);
  }

  void make_tables(ModelFrame& frame, const Tensor& states) const {
    if (config_.code->scales_unrotated_queries) {
      frame.query_scale = scale_of(frame.position_ids);
    }
    const RotaryEmbedding& rotary = used_rotary_ ? *used_rotary_ : *rotary_emb_;
    frame.tables = rotary(states, frame.position_ids);
    if (has_tables_per_kind(config_.code->tables) && any_window()) {
      frame.sliding_tables = rotary.windowed(states, frame.position_ids);
    }
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
    const Tensor positions = config_.code->asks_no_positions ? Tensor{} : frame.position_ids;
    nn::MaskRequest request{.inputs_embeds = frame.inputs_embeds,
                            .attention_mask = attention_mask,
                            .position_ids = positions,
                            .has_cache = frame.cache != nullptr};
    if (!config_.code->has_mask_per_kind) {
      request.sliding_window = window_of(config_, 0);
      frame.mask = nn::create_causal_mask(context(), request);
      return;
    }
    frame.mask = nn::create_causal_mask(context(), request);
    request.sliding_window = window_of_mask();
    if (request.sliding_window) {
      frame.sliding_mask = nn::create_causal_mask(context(), request);
    }
  }

  // Of the mask for layers with a window. Qwen2-MoE says 0 where windows are switched off, and
  // makes that mask nevertheless.
  std::optional<std::int64_t> window_of_mask() const {
    if (!config_.code->makes_unused_masks) {
      return any_window();
    }
    const bool is_off = has_switch(config_.code->windows) && !config_.use_sliding_window;
    return is_off ? std::optional<std::int64_t>(0) : config_.sliding_window;
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
        [&block, slides, cache = frame.cache, scale = slides ? Tensor{} : frame.query_scale,
         tables = tables_at(),
         shared = frame.shared](const std::vector<Tensor>& in, const Keywords& named) {
          return block(in[0], {.layer_input = in.size() > 1 ? in[1] : Tensor{},
                               .positions = {.cos = named[tables][0], .sin = named[tables][1]},
                               .mask = named[0][0],
                               .cache = cache,
                               .query_scale = scale,
                               .slides = slides,
                               .shared = shared});
        },
        arguments_of(states, index, frame),
        in_source_order(mask, slides ? frame.sliding_tables : frame.tables, frame));
  }

  // Of a block, by position: the hidden states and, of Gemma 4, the layer's own input.
  static std::vector<Tensor> arguments_of(const Tensor& states, std::size_t index,
                                          const ModelFrame& frame) {
    if (!frame.layer_inputs.defined()) {
      return {states};
    }
    return {states, eager::select(frame.layer_inputs, 2, static_cast<std::int64_t>(index))};
  }

  // Mistral and Gemma name position_ids before the tables, LLaMA and Qwen after them.
  [[nodiscard]] std::size_t tables_at() const { return config_.code->names_positions_last ? 1 : 2; }

  // The keyword arguments of a block, in the order in which the call names them.
  [[nodiscard]] Keywords in_source_order(const Tensor& mask, const CosSin& sliding,
                                         const ModelFrame& frame) const {
    const CosSin& tables = sliding.cos.defined() ? sliding : frame.tables;
    const eager::TensorList both{tables.cos, tables.sin};
    return tables_at() == 1 ? Keywords{{mask}, both, {frame.position_ids}}
                            : Keywords{{mask}, {frame.position_ids}, both};
  }

  void end(ModelFrame& frame) const {
    eager::end_of_frame(frame.layer_inputs);
    if (config_.code->asks_no_positions) {  // which the dictionary of the masks' arguments lacks
      eager::end_of_frame(frame.position_ids);
    }
    if (config_.code->has_mask_per_kind) {
      eager::end_of_frame(frame.mask, frame.sliding_mask, frame.inputs_embeds, frame.position_ids);
    } else {
      eager::end_of_frame(frame.position_ids, frame.inputs_embeds, frame.mask);
    }
    frame.shared.reset();
    eager::end_of_frame(frame.tables.sin, frame.tables.cos, frame.query_scale);
    eager::end_of_frame(frame.sliding_tables.sin, frame.sliding_tables.cos);
  }

  LlamaConfig config_;
  nn::ModelPart part_;
  std::unique_ptr<TokenEmbedding> embed_tokens_;  ///< null behind a pipeline's first stage
  nn::Container layers_;
  std::vector<std::unique_ptr<DecoderLayer>> blocks_;
  std::unique_ptr<Norm> norm_;  ///< null before a pipeline's last stage
  std::unique_ptr<RotaryEmbedding> rotary_emb_;
  std::unique_ptr<LayerInputs> layer_inputs_;  ///< null: blocks get none
  std::unique_ptr<nn::Container> rotary_embs_;
  std::unique_ptr<RotaryEmbedding> used_rotary_;  ///< null: the one before
};

}  // namespace

std::unique_ptr<LanguageModel> make_decoder(nn::ModelContext& context, const LlamaConfig& config,
                                            const LayerMaker& make_layer) {
  return std::make_unique<CausalLm<LlamaModel>>(
      context,
      HeadConfig{.width = config.hidden_size,
                 .vocab_size = config.vocab_size,
                 .is_tied = config.tie_word_embeddings,
                 .bias = nn::bias_if(config.code->has_head_bias),
                 .logits = logits_code_of(config),
                 .divides_states = config.code->divides_states},
      config, make_layer);
}

std::unique_ptr<LanguageModel> make_llama_with(nn::ModelContext& context, const LlamaConfig& config,
                                               const FeedForwardMaker& make_mlp) {
  return make_decoder(context, config, [&](Module* parent, std::int64_t index) {
    const auto attention = [&](Module* block) { return make_attention(block, index, config); };
    return make_decoder_layer(parent, index, config, {attention, make_mlp});
  });
}

std::unique_ptr<LanguageModel> make_model(nn::ModelContext& context, const LlamaConfig& config) {
  return make_decoder(context, config, [&](Module* parent, std::int64_t index) {
    const auto attention = [&](Module* block) { return make_attention(block, index, config); };
    const auto mlp = [&](Module* block) { return make_feed_forward(block, index, config); };
    return make_decoder_layer(parent, index, config, {attention, mlp});
  });
}

}  // namespace highwater::models
