// NeMo's GPT ("gpt_next" sizes): the decoder of llama.cpp with LayerNorm (weight and bias), no
// grouped heads and dropout after both parts of a block. NeMo's own fused kernels are not imitated:
// these are the operators that transformers would run for such a model.
#include "workloads/plan/model/families/gpt_next.hpp"

#include "workloads/models/attention.hpp"
#include "workloads/models/causal_lm.hpp"
#include "workloads/models/causal_loss.hpp"
#include "workloads/models/positions.hpp"
#include "workloads/models/rotary.hpp"
#include "workloads/nn/layers.hpp"
#include "workloads/nn/masking.hpp"

namespace highwater::models {

namespace {

class GptNextAttention : public Module {
 public:
  GptNextAttention(Module* parent, const GptNextConfig& config)
      : Module(parent, "self_attn"),
        head_dim_(config.hidden_size / config.num_attention_heads),
        dropout_(config.attention_dropout),
        q_proj_(this, "q_proj", config.hidden_size, config.hidden_size, nn::Bias::none),
        k_proj_(this, "k_proj", config.hidden_size, config.hidden_size, nn::Bias::none),
        v_proj_(this, "v_proj", config.hidden_size, config.hidden_size, nn::Bias::none),
        o_proj_(this, "o_proj", config.hidden_size, config.hidden_size, nn::Bias::none) {}

  AttentionResult operator()(Tensor hidden_states, const CosSin& positions, const Tensor& mask,
                             const nn::CachePtr& cache) const {
    const nn::InModule scope(*this);
    Tensor query = project(q_proj_, hidden_states);
    Tensor key = project(k_proj_, hidden_states);
    Tensor value = project(v_proj_, hidden_states);
    rotate(query, key, positions);
    if (cache) {
      cache->update(key, value);
    }
    AttentionResult result = attend(query, key, value, mask);
    Tensor& output = result.output;
    output = eager::contiguous(eager::reshape(output, {output.size(0), output.size(1), -1}));
    output = o_proj_(output);
    eager::end_of_frame(hidden_states, query, key, value);
    return result;
  }

 private:
  Tensor project(const nn::Linear& projection, const Tensor& x) const {
    const Tensor states = eager::view(projection(x), {x.size(0), x.size(1), -1, head_dim_});
    return eager::transpose(states, 1, 2);
  }

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
                       .is_grouped = true};
    return context().is_eager() ? eager_attention_fp32(context(), std::move(call))
                                : sdpa_attention(context(), std::move(call));
  }

  std::int64_t head_dim_;
  double dropout_;
  nn::Linear q_proj_;
  nn::Linear k_proj_;
  nn::Linear v_proj_;
  nn::Linear o_proj_;
};

class GptNextMlp : public Module {
 public:
  GptNextMlp(Module* parent, const GptNextConfig& config)
      : Module(parent, "mlp"),
        gate_proj_(this, "gate_proj", config.hidden_size, config.ffn_hidden_size, nn::Bias::none),
        up_proj_(this, "up_proj", config.hidden_size, config.ffn_hidden_size, nn::Bias::none),
        down_proj_(this, "down_proj", config.ffn_hidden_size, config.hidden_size, nn::Bias::none) {}

  Tensor operator()(Tensor x) const {
    const nn::InModule scope(*this);
    Tensor product;
    {
      Tensor gate = gate_proj_(x);
      Tensor active = eager::silu(gate);
      gate.reset();
      Tensor up = up_proj_(x);
      product = eager::mul(active, up);
      eager::end_of_frame(active, up);
    }
    Tensor result = down_proj_(product);
    product.reset();
    return result;
  }

 private:
  nn::Linear gate_proj_;
  nn::Linear up_proj_;
  nn::Linear down_proj_;
};

class GptNextLayer : public Module {
 public:
  GptNextLayer(Module* parent, std::size_t index, const GptNextConfig& config)
      : Module(parent, std::to_string(index)),
        self_attn_(this, config),
        mlp_(this, config),
        input_layernorm_(this, "input_layernorm", config.hidden_size),
        post_attention_layernorm_(this, "post_attention_layernorm", config.hidden_size),
        hidden_dropout_(this, "hidden_dropout", config.hidden_dropout) {}

  Tensor operator()(Tensor hidden_states, const CosSin& positions, const Tensor& mask,
                    const nn::CachePtr& cache) const {
    const nn::InModule scope(*this);
    Tensor residual = hidden_states;
    hidden_states = input_layernorm_(hidden_states);
    AttentionResult attention = self_attn_(hidden_states, positions, mask, cache);
    hidden_states = std::move(attention.output);
    hidden_states = hidden_dropout_(hidden_states);
    hidden_states = eager::add(residual, hidden_states);
    residual = hidden_states;
    hidden_states = post_attention_layernorm_(hidden_states);
    hidden_states = mlp_(hidden_states);
    hidden_states = hidden_dropout_(hidden_states);
    hidden_states = eager::add(residual, hidden_states);
    eager::end_of_frame(residual, attention.weights);
    return hidden_states;
  }

 private:
  GptNextAttention self_attn_;
  GptNextMlp mlp_;
  nn::LayerNorm input_layernorm_;
  nn::LayerNorm post_attention_layernorm_;
  nn::Dropout hidden_dropout_;
};

class GptNextModel : public Module {
 public:
  GptNextModel(Module* parent, const GptNextConfig& config)
      : Module(parent, "model"),
        embed_tokens_(this, "embed_tokens", config.vocab_size, config.hidden_size),
        layers_(this, "layers"),
        blocks_(layers_, static_cast<std::size_t>(config.num_layers), config),
        norm_(this, "norm", config.hidden_size),
        rotary_emb_(this, config.hidden_size / config.num_attention_heads) {
    rotary_emb_.initialize_again();
  }

  Tensor operator()(const Inputs& inputs, const nn::CachePtr& cache) const {
    const nn::InModule scope(*this);
    Tensor inputs_embeds = embed_tokens_(inputs.input_ids);
    Tensor position_ids = position_ids_of(inputs, runtime(), inputs_embeds.size(1));
    Tensor mask = nn::create_causal_mask(context(), {.inputs_embeds = inputs_embeds,
                                                     .attention_mask = inputs.attention_mask,
                                                     .position_ids = position_ids,
                                                     .has_cache = cache != nullptr});
    Tensor states = inputs_embeds;
    CosSin tables = rotary_emb_(states, position_ids);
    for (std::size_t i = 0; i < blocks_.size(); ++i) {
      states = run(i, states, {{mask}, {tables.cos, tables.sin}, {position_ids}}, cache);
    }
    states = norm_(states);
    eager::end_of_frame(position_ids, inputs_embeds, mask, tables.sin, tables.cos);
    return states;
  }

  [[nodiscard]] const Tensor& embedding_weight() const { return embed_tokens_.weight; }

 private:
  Tensor run(std::size_t index, const Tensor& states, const Keywords& keywords,
             const nn::CachePtr& cache) const {
    const auto& block = blocks_[index];
    return run_block(
        block, index,
        [&block, cache](const std::vector<Tensor>& in, const Keywords& named) {
          return block(in[0], {.cos = named[1][0], .sin = named[1][1]}, named[0][0], cache);
        },
        {states}, keywords);
  }

  nn::Embedding embed_tokens_;
  nn::Container layers_;
  nn::BlockList<GptNextLayer> blocks_;
  nn::LayerNorm norm_;
  RotaryEmbedding rotary_emb_;
};

}  // namespace

std::unique_ptr<LanguageModel> make_model(nn::ModelContext& context, const GptNextConfig& config) {
  return std::make_unique<CausalLm<GptNextModel>>(
      context, HeadConfig{.width = config.hidden_size, .vocab_size = config.vocab_size}, config);
}

}  // namespace highwater::models
