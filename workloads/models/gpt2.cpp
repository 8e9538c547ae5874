// GPT-2 (transformers 5.12, models/gpt2/modeling_gpt2.py).
#include "workloads/plan/model/families/gpt2.hpp"

#include "workloads/models/attention.hpp"
#include "workloads/models/causal_lm.hpp"
#include "workloads/models/causal_loss.hpp"
#include "workloads/models/gpt2_block.hpp"
#include "workloads/models/positions.hpp"
#include "workloads/nn/layers.hpp"
#include "workloads/nn/masking.hpp"
#include "workloads/plan/training_plan.hpp"

namespace highwater::models {

namespace {

/// Attention of transformers before 5.2 had a causal mask of all positions as a buffer, unused by
/// SDPA, and before 5.0 a number to mask with (4.57 and 5.1, GPT2Attention.__init__).
constexpr Release kFirstWithoutMask{5, 2};
constexpr Release kFirstWithoutMaskedBias{5, 0};

/// `Projection` is Conv1D, or what bitsandbytes puts in its place.
template <class Projection>
class Gpt2Attention : public Module {
 public:
  Gpt2Attention(Module* parent, const Gpt2Config& config)
      : Module(parent, "attn"),
        config_(config),
        c_attn_(this, "c_attn", config.n_embd, 3 * config.n_embd),
        c_proj_(this, "c_proj", config.n_embd, config.n_embd),
        attn_dropout_(this, "attn_dropout", config.attn_pdrop),
        resid_dropout_(this, "resid_dropout", config.resid_pdrop) {
    register_masks();
  }

  AttentionResult operator()(Tensor hidden_states, const Tensor& attention_mask,
                             const nn::CachePtr& cache) const {
    const nn::InModule scope(*this);
    auto parts = eager::split(c_attn_(hidden_states), config_.n_embd, 2);
    Tensor query = std::move(parts[0]);
    Tensor key = heads(std::move(parts[1]));
    Tensor value = heads(std::move(parts[2]));
    query = heads(std::move(query));
    if (cache) {
      cache->update(key, value);
    }
    AttentionResult result = attend(query, key, value, attention_mask);
    auto& output = result.output;
    output = eager::contiguous(eager::reshape(output, {output.size(0), output.size(1), -1}));
    output = c_proj_(output);
    output = resid_dropout_(output);
    eager::end_of_frame(hidden_states, query, key, value);
    return result;
  }

 private:
  void register_masks() {
    const nn::InModule scope(*this);
    const auto made = [this](const eager::Dims& sizes, DType type) {
      return eager::empty_on(runtime(), context().place, sizes, type);
    };
    if (runtime().transformers < kFirstWithoutMask) {
      const Tensor ones = made({config_.n_positions, config_.n_positions}, DType::boolean);
      register_buffer("bias", eager::empty_like(ones));
    }
    if (runtime().transformers < kFirstWithoutMaskedBias) {
      register_buffer("masked_bias", made({}, context().dtype));
    }
  }

  Tensor heads(Tensor states) const {
    const auto head_dim = config_.n_embd / config_.n_head;
    return eager::transpose(eager::view(states, {states.size(0), states.size(1), -1, head_dim}), 1,
                            2);
  }

  AttentionResult attend(const Tensor& query, const Tensor& key, const Tensor& value,
                         const Tensor& mask) const {
    const AttentionCall call{.query = query,
                             .key = key,
                             .value = value,
                             .mask = mask,
                             .dropout = context().training ? attn_dropout_.probability() : 0.0};
    if (!context().is_eager()) {
      return sdpa_attention(context(), call);
    }
    return core_attention(context(), call,
                          [this](const AttentionCall& own) { return attend_eagerly(own); });
  }

  AttentionResult attend_eagerly(const AttentionCall& call) const {
    Tensor weights = eager::matmul(call.query, eager::transpose(call.key, -1, -2));
    weights = eager::mul(weights, 1.0);
    if (call.mask.defined()) {
      weights = eager::add(weights, call.mask);
    }
    weights = eager::softmax(weights, -1, std::nullopt);
    weights = eager::to_dtype(weights, call.value.dtype());
    weights = nn::plain_dropout(context(), weights, call.dropout);
    return {eager::transpose(eager::matmul(weights, call.value), 1, 2), weights};
  }

  Gpt2Config config_;
  Projection c_attn_;
  Projection c_proj_;
  nn::Dropout attn_dropout_;
  nn::Dropout resid_dropout_;
};

template <class Projection>
class Gpt2Model : public Module {
 public:
  Gpt2Model(Module* parent, const Gpt2Config& config)
      : Module(parent, "transformer"),
        part_(context().part_of(config.n_layer)),
        wte_(embedding("wte", config.vocab_size, config)),
        wpe_(embedding("wpe", config.n_positions, config)),
        drop_(this, "drop", config.embd_pdrop),
        h_(this, "h"),
        blocks_(h_, part_, config),
        ln_f_(part_.has_head ? std::make_unique<nn::LayerNorm>(this, "ln_f", config.n_embd)
                             : nullptr) {}

  Tensor operator()(const Inputs& inputs, const nn::CachePtr& cache) const {
    const nn::InModule scope(*this);
    Tensor inputs_embeds = wte_ ? embed(inputs.input_ids) : inputs.hidden_states;
    const std::int64_t length = inputs_embeds.size(1);
    Tensor position_ids = position_ids_of(inputs, runtime(), length);
    Tensor position_embeds;
    Tensor states = inputs_embeds;
    if (wpe_) {
      position_embeds = (*wpe_)(position_ids);
      states = eager::add(inputs_embeds, position_embeds);
    }
    Tensor mask = nn::create_causal_mask(context(), {.inputs_embeds = inputs_embeds,
                                                     .attention_mask = inputs.attention_mask,
                                                     .position_ids = position_ids,
                                                     .has_cache = cache != nullptr});
    if (wte_) {
      states = drop_(states);
    }
    for (std::size_t i = 0; i < blocks_.size(); ++i) {
      const auto& block = blocks_[i];
      states = run_block(block, i + static_cast<std::size_t>(part_.first_layer),
                         [&block, cache](const std::vector<Tensor>& in, const Keywords&) {
                           return block(in[0], in[1], cache);
                         },
                         {states, mask}, {{position_ids}});
    }
    if (ln_f_) {
      states = (*ln_f_)(states);
      states = eager::view(states, {-1, length, states.size(-1)});
    }
    eager::end_of_frame(position_ids, inputs_embeds, position_embeds, mask);
    return states;
  }

  /// @pre the part has the embedding
  [[nodiscard]] const Tensor& embedding_weight() const { return wte_->weight; }

 private:
  Tensor embed(const Tensor& input_ids) const {
    return (*wte_)(eager::view(input_ids, {-1, input_ids.size(-1)}));
  }

  std::unique_ptr<nn::Embedding> embedding(const char* name, std::int64_t rows,
                                           const Gpt2Config& config) {
    return part_.has_embedding ? std::make_unique<nn::Embedding>(this, name, rows, config.n_embd)
                               : nullptr;
  }

  nn::ModelPart part_;
  std::unique_ptr<nn::Embedding> wte_;  ///< this and wpe: null behind a pipeline's first stage
  std::unique_ptr<nn::Embedding> wpe_;
  nn::Dropout drop_;
  nn::Container h_;
  nn::BlockList<Gpt2Block<Gpt2Attention<Projection>, Projection>> blocks_;
  std::unique_ptr<nn::LayerNorm> ln_f_;  ///< null before a pipeline's last stage
};

}  // namespace

std::unique_ptr<LanguageModel> make_model(nn::ModelContext& context, const Gpt2Config& config) {
  const HeadConfig head{.width = config.n_embd,
                        .vocab_size = config.vocab_size,
                        .is_tied = config.tie_word_embeddings};
  if (is_quantized(context.plan.quantization)) {
    return std::make_unique<CausalLm<Gpt2Model<nn::LinearFromConv1D>>>(context, head, config);
  }
  return std::make_unique<CausalLm<Gpt2Model<nn::Conv1D>>>(context, head, config);
}

}  // namespace highwater::models
