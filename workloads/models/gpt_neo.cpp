// GPT-Neo (transformers 5.12, models/gpt_neo/modeling_gpt_neo.py). It has no SDPA: attention is
// always written out, and each layer keeps its own boolean causal mask.
#include "workloads/plan/model/families/gpt_neo.hpp"

#include "workloads/models/attention.hpp"
#include "workloads/models/causal_lm.hpp"
#include "workloads/models/causal_loss.hpp"
#include "workloads/models/mlp.hpp"
#include "workloads/models/positions.hpp"
#include "workloads/nn/layers.hpp"
#include "workloads/nn/masking.hpp"

namespace highwater::models {

namespace {

using eager::TensorList;

class GptNeoSelfAttention : public Module {
 public:
  GptNeoSelfAttention(Module* parent, const GptNeoConfig& config, GptNeoAttention kind)
      : Module(parent, "attention"),
        kind_(kind),
        positions_(config.max_position_embeddings),
        heads_(config.num_heads),
        head_dim_(config.hidden_size / config.num_heads),
        bias_(causal_mask()),
        attn_dropout_(this, "attn_dropout", config.attention_dropout),
        resid_dropout_(this, "resid_dropout", config.resid_dropout),
        k_proj_(this, "k_proj", config.hidden_size, config.hidden_size, nn::Bias::none),
        v_proj_(this, "v_proj", config.hidden_size, config.hidden_size, nn::Bias::none),
        q_proj_(this, "q_proj", config.hidden_size, config.hidden_size, nn::Bias::none),
        out_proj_(this, "out_proj", config.hidden_size, config.hidden_size) {
    register_buffer("bias", bias_);
    if (runtime().transformers < Release{5, 0}) {  // 4.57: torch.tensor(-1e9)
      const nn::InModule scope(*this);
      register_buffer("masked_bias",
                      eager::empty_on(runtime(), context().place, {}, context().dtype));
    }
  }

  AttentionResult operator()(Tensor hidden_states, const Tensor& attention_mask,
                             const nn::CachePtr& cache) const {
    const nn::InModule scope(*this);
    Tensor query = q_proj_(hidden_states);
    Tensor key = k_proj_(hidden_states);
    Tensor value = v_proj_(hidden_states);
    query = split_heads(query);
    key = split_heads(key);
    value = split_heads(value);
    if (cache) {
      cache->update(key, value);
    }
    AttentionResult result = core_attention(
        context(), {.query = query, .key = key, .value = value, .mask = attention_mask},
        [this](AttentionCall call) {
          return attend(std::move(call.query), std::move(call.key), std::move(call.value),
                        call.mask);
        });
    result.output = merge_heads(result.output);
    result.output = out_proj_(result.output);
    result.output = resid_dropout_(result.output);
    eager::end_of_frame(hidden_states, query, key, value);
    return result;
  }

  /// _init_weights makes the mask once more and copies it.
  void initialize_again() const {
    const nn::InModule scope(*this);
    static_cast<void>(causal_mask());
  }

 private:
  [[nodiscard]] Tensor square_mask() const {
    return eager::empty_on(runtime(), context().place, {positions_, positions_}, DType::boolean);
  }

  // tril(ones), and of local attention the band near the diagonal of that.
  [[nodiscard]] Tensor causal_mask() const {
    const nn::InModule scope(*this);
    Tensor lower;
    {
      const Tensor ones = square_mask();
      lower = square_mask();
    }
    if (kind_ == GptNeoAttention::local) {
      Tensor far = square_mask();
      Tensor band = square_mask();
      far.reset();
      lower = std::move(band);
    }
    return eager::view(lower, {1, 1, positions_, positions_});
  }

  [[nodiscard]] Tensor split_heads(const Tensor& states) const {
    return eager::permute(eager::view(states, {states.size(0), states.size(1), heads_, head_dim_}),
                          {0, 2, 1, 3});
  }

  [[nodiscard]] Tensor merge_heads(const Tensor& states) const {
    const Tensor rows = eager::contiguous(eager::permute(states, {0, 2, 1, 3}));
    return eager::view(rows, {rows.size(0), rows.size(1), heads_ * head_dim_});
  }

  [[nodiscard]] AttentionResult attend(Tensor query, Tensor key, Tensor value,
                                       const Tensor& attention_mask) const {
    query = eager::to_dtype(query, DType::fp32);
    key = eager::to_dtype(key, DType::fp32);
    Tensor weights = eager::matmul(query, eager::transpose(key, -1, -2));
    const Tensor mask_value = eager::empty(runtime(), {}, weights.dtype());
    weights = eager::where(visible(query.size(-2), key.size(-2)), weights, mask_value);
    if (attention_mask.defined()) {
      weights = eager::add(weights, attention_mask);
    }
    weights = eager::softmax(weights, -1, std::nullopt);
    weights = eager::to_dtype(weights, value.dtype());
    weights = attn_dropout_(weights);
    Tensor output = eager::matmul(weights, value);
    eager::end_of_frame(query, key, value);
    return {std::move(output), std::move(weights)};
  }

  // bias[:, :, keys - queries : keys, :keys]
  [[nodiscard]] Tensor visible(std::int64_t queries, std::int64_t keys) const {
    return eager::slice(eager::slice(bias_, 2, keys - queries, keys), 3, 0, keys);
  }

  GptNeoAttention kind_;
  std::int64_t positions_;
  std::int64_t heads_;
  std::int64_t head_dim_;
  Tensor bias_;
  nn::Dropout attn_dropout_;
  nn::Dropout resid_dropout_;
  nn::Linear k_proj_;
  nn::Linear v_proj_;
  nn::Linear q_proj_;
  nn::Linear out_proj_;
};

MlpConfig mlp_config(const GptNeoConfig& config) {
  return {.width = config.hidden_size,
          .inner = inner_dim_of(config),
          .activation = config.activation_function,
          .dropout = config.resid_dropout};
}

class GptNeoBlock : public Module {
 public:
  GptNeoBlock(Module* parent, std::size_t index, const GptNeoConfig& config)
      : Module(parent, std::to_string(index)),
        ln_1_(this, "ln_1", config.hidden_size),
        attn_(this, "attn"),
        attention_(&attn_, config, attention_of(config, static_cast<std::int64_t>(index))),
        ln_2_(this, "ln_2", config.hidden_size),
        mlp_(this, mlp_config(config)) {}

  /// (hidden states, attention weights)
  TensorList operator()(Tensor hidden_states, const Tensor& attention_mask,
                        const nn::CachePtr& cache) const {
    const nn::InModule scope(*this);
    Tensor residual = hidden_states;
    hidden_states = ln_1_(hidden_states);
    AttentionResult attention = attention_(hidden_states, attention_mask, cache);
    Tensor attn_output = std::move(attention.output);
    hidden_states = eager::add(attn_output, residual);
    residual = hidden_states;
    hidden_states = ln_2_(hidden_states);
    Tensor feed_forward = mlp_(hidden_states);
    hidden_states = eager::add(residual, feed_forward);
    eager::end_of_frame(residual, attn_output, feed_forward);
    return {std::move(hidden_states), std::move(attention.weights)};
  }

  void initialize_again() const { attention_.initialize_again(); }

 private:
  nn::LayerNorm ln_1_;
  nn::Container attn_;
  GptNeoSelfAttention attention_;
  nn::LayerNorm ln_2_;
  Mlp<nn::Linear> mlp_;
};

class GptNeoModel : public Module {
 public:
  GptNeoModel(Module* parent, const GptNeoConfig& config)
      : Module(parent, "transformer"),
        wte_(this, "wte", config.vocab_size, config.hidden_size),
        wpe_(this, "wpe", config.max_position_embeddings, config.hidden_size),
        drop_(this, "drop", config.embed_dropout),
        h_(this, "h"),
        blocks_(h_, static_cast<std::size_t>(config.num_layers), config),
        ln_f_(this, "ln_f", config.hidden_size) {
    for (std::size_t i = 0; i < blocks_.size(); ++i) {
      blocks_[i].initialize_again();
    }
  }

  Tensor operator()(const Inputs& inputs, const nn::CachePtr& cache) const {
    const nn::InModule scope(*this);
    Tensor inputs_embeds = wte_(inputs.input_ids);
    Tensor position_ids = position_ids_of(inputs, runtime(), inputs_embeds.size(1));
    Tensor mask = nn::create_causal_mask(context(), {.inputs_embeds = inputs_embeds,
                                                     .attention_mask = inputs.attention_mask,
                                                     .position_ids = position_ids,
                                                     .has_cache = cache != nullptr});
    Tensor position_embeds = wpe_(position_ids);
    Tensor states = eager::add(inputs_embeds, position_embeds);
    states = drop_(states);
    TensorList outputs;
    for (std::size_t i = 0; i < blocks_.size(); ++i) {
      outputs = run(i, states, mask, cache);
      states = outputs[0];
    }
    states = ln_f_(states);
    states = eager::view(states, {-1, inputs_embeds.size(1), states.size(-1)});
    eager::end_of_frame(position_ids, inputs_embeds, mask, position_embeds, outputs[1]);
    return states;
  }

  [[nodiscard]] const Tensor& embedding_weight() const { return wte_.weight; }

 private:
  TensorList run(std::size_t index, const Tensor& states, const Tensor& mask,
                 const nn::CachePtr& cache) const {
    const auto& block = blocks_[index];
    return run_tuple_block(block, index,
                           [&block, cache](const std::vector<Tensor>& in, const Keywords& named) {
                             return block(in[0], named[0][0], cache);
                           },
                           {states}, {{mask}});
  }

  nn::Embedding wte_;
  nn::Embedding wpe_;
  nn::Dropout drop_;
  nn::Container h_;
  nn::BlockList<GptNeoBlock> blocks_;
  nn::LayerNorm ln_f_;
};

}  // namespace

std::unique_ptr<LanguageModel> make_model(nn::ModelContext& context, const GptNeoConfig& config) {
  return std::make_unique<CausalLm<GptNeoModel>>(context,
                                                 HeadConfig{.width = config.hidden_size,
                                                            .vocab_size = config.vocab_size,
                                                            .is_tied = config.tie_word_embeddings},
                                                 config);
}

}  // namespace highwater::models
