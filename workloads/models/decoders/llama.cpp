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
#include "workloads/models/decoders/layer_masks.hpp"
#include "workloads/models/decoders/layer_tables.hpp"
#include "workloads/models/norm.hpp"
#include "workloads/models/positions.hpp"
#include "workloads/nn/layers.hpp"

namespace highwater::models {

namespace {

LogitsCode logits_code_of(const LlamaConfig& config) {
  const LogitsCode code = config.code->head.logits;
  const bool is_cap = code == LogitsCode::soft_capped || code == LogitsCode::wide_soft_capped;
  return is_cap && !config.final_logit_softcapping ? LogitsCode::plain : code;
}

/// The variables of the model's frame.
struct ModelFrame {
  Tensor inputs_embeds;
  Tensor layer_inputs;  ///< Gemma 4's, of all layers
  Tensor position_ids;
  LayerMasks masks;
  LayerTables tables;
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
        norm_(make_norm_if(LastNormMade::before_tables)) {
    tables_ = std::make_unique<TableMakers>(this, config);
    if (config.code->last_norm.made == LastNormMade::behind_tables) {
      norm_ = make_norm_if(LastNormMade::behind_tables);
    }
    if (config.layer_input_width > 0) {
      layer_inputs_ = std::make_unique<LayerInputs>(this, config);
    }
    tables_->initialize_again();
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
    frame.inputs_embeds = scaled_in(EmbeddingScale::number, frame.inputs_embeds);
    frame.position_ids = position_ids_of(inputs, runtime(), frame.inputs_embeds.size(1));
    make_masks(frame, inputs.attention_mask);
    frame.inputs_embeds = scaled_in(EmbeddingScale::number_behind_masks, frame.inputs_embeds);
    Tensor states = scaled_in(EmbeddingScale::number_of_states, dropped(frame));
    frame.tables = tables_->make(states, frame.position_ids);
    if (config_.code->attention.kind == AttentionKind::normed_values &&
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

  [[nodiscard]] Tensor scaled_in(EmbeddingScale step, const Tensor& states) const {
    return scaled_in_step(step, config_, states);
  }

  std::unique_ptr<Norm> make_norm_if(LastNormMade moment) {
    const LastNormCode& code = config_.code->last_norm;
    const bool ends_the_model = part_.first_layer + part_.layers == config_.num_hidden_layers;
    return ends_the_model && code.made == moment
               ? std::make_unique<Norm>(this, code.name, config_.hidden_size,
                                        config_.code->block.norm)
               : nullptr;
  }

  // The embedding behind its dropout, which has the embedding's name or one of its own.
  Tensor dropped(ModelFrame& frame) const {
    const FamilyDropout dropout(config_, FieldRole::embedding_dropout, config_.embedding_dropout);
    Tensor states = dropout(context(), frame.inputs_embeds);
    if (config_.code->embedding.dropout == DropoutName::inputs_embeds) {
      frame.inputs_embeds = states;
    }
    return states;
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
    const Tensor positions = masks_know_positions() ? frame.position_ids : Tensor{};
    frame.masks = make_layer_masks(context(), config_,
                                   {.inputs_embeds = frame.inputs_embeds,
                                    .attention_mask = attention_mask,
                                    .position_ids = positions,
                                    .has_cache = frame.cache != nullptr});
  }

  [[nodiscard]] bool masks_know_positions() const {
    return config_.code->windows.mask_positions == MaskPositions::given;
  }

  [[nodiscard]] bool has_one_mask() const { return config_.code->windows.masks == MaskKinds::one; }

  Tensor run(std::size_t position, const Tensor& states, const ModelFrame& frame) const {
    const auto& block = *blocks_[position];
    const std::size_t index = position + static_cast<std::size_t>(part_.first_layer);
    const bool slides = window_of(config_, static_cast<std::int64_t>(index)).has_value();
    const Tensor mask = !has_one_mask() && slides ? frame.masks.windowed : frame.masks.full;
    return run_block(
        block, index,
        [&block, slides, cache = frame.cache, scale = slides ? Tensor{} : frame.tables.query_scale,
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
        in_source_order(mask, slides ? frame.tables.windowed : frame.tables.all, frame));
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
  [[nodiscard]] std::size_t tables_at() const {
    return config_.code->positions.order == PositionOrder::tables_first ? 1 : 2;
  }

  // The keyword arguments of a block, in the order in which the call names them.
  [[nodiscard]] Keywords in_source_order(const Tensor& mask, const CosSin& sliding,
                                         const ModelFrame& frame) const {
    const CosSin& tables = sliding.cos.defined() ? sliding : frame.tables.all;
    const eager::TensorList both{tables.cos, tables.sin};
    return tables_at() == 1 ? Keywords{{mask}, both, {frame.position_ids}}
                            : Keywords{{mask}, {frame.position_ids}, both};
  }

  void end(ModelFrame& frame) const {
    eager::end_of_frame(frame.layer_inputs);
    if (!masks_know_positions()) {  // which the dictionary of the masks' arguments lacks
      eager::end_of_frame(frame.position_ids);
    }
    auto& [full, windowed] = frame.masks;
    if (has_one_mask()) {
      eager::end_of_frame(frame.position_ids, frame.inputs_embeds, full);
    } else {
      eager::end_of_frame(full, windowed, frame.inputs_embeds, frame.position_ids);
    }
    frame.shared.reset();
    LayerTables& tables = frame.tables;
    eager::end_of_frame(tables.all.sin, tables.all.cos, tables.query_scale);
    eager::end_of_frame(tables.windowed.sin, tables.windowed.cos);
  }

  LlamaConfig config_;
  nn::ModelPart part_;
  std::unique_ptr<TokenEmbedding> embed_tokens_;  ///< null behind a pipeline's first stage
  nn::Container layers_;
  std::vector<std::unique_ptr<DecoderLayer>> blocks_;
  std::unique_ptr<Norm> norm_;  ///< null before a pipeline's last stage
  std::unique_ptr<TableMakers> tables_;
  std::unique_ptr<LayerInputs> layer_inputs_;  ///< null: blocks get none
};

}  // namespace

std::unique_ptr<LanguageModel> make_decoder(nn::ModelContext& context, const LlamaConfig& config,
                                            const LayerMaker& make_layer) {
  return std::make_unique<CausalLm<LlamaModel>>(
      context,
      HeadConfig{.width = config.hidden_size,
                 .vocab_size = config.vocab_size,
                 .is_tied = config.tie_word_embeddings,
                 .bias = nn::bias_if(config.code->head.has_bias),
                 .logits = logits_code_of(config),
                 .input = config.code->head.input},
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
