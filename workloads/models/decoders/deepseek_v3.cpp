// DeepSeek-V3 (transformers 5.12, models/deepseek_v3/modeling_deepseek_v3.py): latent attention,
// the first blocks dense, the others a mixture of routed and shared experts. Since 5.13 the gate
// routes; since 5.15 keys and values are cached before they are expanded.
#include "workloads/plan/model/families/deepseek_v3.hpp"

#include <utility>

#include "workloads/models/decoders/decoder.hpp"
#include "workloads/models/decoders/grouped_mixture.hpp"
#include "workloads/models/norm.hpp"
#include "workloads/nn/layers.hpp"

namespace highwater::models {

namespace {

// Where every second element starts with an even or an odd one.
Tensor every_second(const Tensor& x, std::int64_t start) {
  return eager::slice(x, -1, start, eager::kEnd, 2);
}

// cat([a * cos - b * sin, b * cos + a * sin])
Tensor rotate_pairs(const Tensor& a, const Tensor& b, const Tensor& cos, const Tensor& sin) {
  Tensor left = eager::mul(a, cos);
  Tensor right = eager::mul(b, sin);
  Tensor first = eager::sub(left, right);
  eager::end_of_frame(left, right);
  left = eager::mul(b, cos);
  right = eager::mul(a, sin);
  Tensor second = eager::add(left, right);
  eager::end_of_frame(left, right);
  Tensor result = eager::cat(std::initializer_list<Tensor>{first, second}, -1);
  eager::end_of_frame(second, first);  // a list drops its last item first
  return result;
}

// apply_rotary_pos_emb_interleave.
void rotate_interleaved(Tensor& query, Tensor& key, const CosSin& positions) {
  const auto half = positions.cos.size(-1) / 2;
  const Tensor cos = eager::unsqueeze(eager::slice(positions.cos, -1, 0, half), 1);
  const Tensor sin = eager::unsqueeze(eager::slice(positions.sin, -1, 0, half), 1);
  Tensor rotated_query;
  Tensor rotated_key;
  {
    const Tensor q1 = every_second(query, 0);
    const Tensor q2 = every_second(query, 1);
    const Tensor k1 = every_second(key, 0);
    const Tensor k2 = every_second(key, 1);
    rotated_query = rotate_pairs(q1, q2, cos, sin);
    rotated_key = rotate_pairs(k1, k2, cos, sin);
  }
  query = std::move(rotated_query);
  key = std::move(rotated_key);
}

// apply_rotary_pos_emb.
void rotate_halves(Tensor& query, Tensor& key, const CosSin& positions) {
  const Tensor cos = eager::unsqueeze(positions.cos, 1);
  const Tensor sin = eager::unsqueeze(positions.sin, 1);
  Tensor rotated_query = apply_rotary(query, cos, sin);
  Tensor rotated_key = apply_rotary(key, cos, sin);
  query = std::move(rotated_query);
  key = std::move(rotated_key);
}

Tensor complex_pairs(const Tensor& x) {
  Dims sizes = x.sizes();
  sizes.back() = -1;
  sizes.push_back(2);
  const Tensor wide = eager::to_dtype(x, DType::fp32);
  return eager::view_as_complex(eager::reshape(wide, sizes));
}

// view_as_real(pairs * frequencies).flatten(3).type_as(x)
Tensor turned_pairs(const Tensor& pairs, const Tensor& frequencies, const Tensor& x) {
  Tensor product = eager::mul(pairs, frequencies);
  const Tensor real = eager::flatten(eager::view_as_real(product), 3, 4);
  product.reset();
  return eager::type_as(real, x);
}

// apply_rotary_emb of DeepSeek-V2: neighbours are real and imaginary parts.
void rotate_complex(Tensor& query, Tensor& key, const Tensor& frequencies) {
  Tensor query_pairs = complex_pairs(query);
  Tensor key_pairs = complex_pairs(key);
  const Tensor spread = eager::unsqueeze(frequencies, 1);
  Tensor turned_query = turned_pairs(query_pairs, spread, query);
  Tensor turned_key = turned_pairs(key_pairs, spread, key);
  eager::end_of_frame(query_pairs, key_pairs);
  query = std::move(turned_query);
  key = std::move(turned_key);
}

std::int64_t qk_head_dim(const DeepseekV3Config& config) {
  return config.qk_nope_head_dim + config.qk_rope_head_dim;
}

class LatentAttention : public DecoderAttention {
 public:
  LatentAttention(Module* parent, const DeepseekV3Config& config)
      : DecoderAttention(parent, "self_attn"), config_(config) {
    const auto heads = config.num_attention_heads;
    const auto bias = nn::bias_if(config.attention_bias);
    if (config.q_lora_rank) {
      const auto rank = *config.q_lora_rank;
      q_a_proj_ = linear("q_a_proj", config.hidden_size, rank, bias);
      q_a_layernorm_ = std::make_unique<Norm>(this, "q_a_layernorm", rank, NormKind::llama);
      q_proj_ = linear("q_b_proj", rank, heads * qk_head_dim(config), nn::Bias::none);
    } else {
      q_proj_ = linear("q_proj", config.hidden_size, heads * qk_head_dim(config), nn::Bias::none);
    }
    kv_a_proj_ = linear("kv_a_proj_with_mqa", config.hidden_size,
                        config.kv_lora_rank + config.qk_rope_head_dim, bias);
    kv_a_layernorm_ =
        std::make_unique<Norm>(this, "kv_a_layernorm", config.kv_lora_rank, NormKind::llama);
    kv_b_proj_ = linear("kv_b_proj", config.kv_lora_rank,
                        heads * (config.qk_nope_head_dim + config.v_head_dim), nn::Bias::none);
    o_proj_ = linear("o_proj", heads * config.v_head_dim, config.hidden_size, bias);
  }

  AttentionResult operator()(Tensor hidden_states, const BlockInputs& inputs) const override {
    const nn::InModule scope(*this);
    return runtime().transformers < Release{5, 15} ? expanded_first(hidden_states, inputs)
                                                   : compressed_first(hidden_states, inputs);
  }

 private:
  struct Pair {
    Tensor first;
    Tensor second;
  };

  AttentionResult expanded_first(Tensor& hidden_states, const BlockInputs& inputs) const {
    const auto batch = hidden_states.size(0);
    const auto length = hidden_states.size(1);
    Tensor q_states = heads_of(queries(hidden_states), qk_head_dim(config_));
    auto [q_pass, q_rot] = parts(q_states, config_.qk_nope_head_dim, config_.qk_rope_head_dim);
    Tensor compressed = (*kv_a_proj_)(hidden_states);
    auto [k_pass, k_rot] = parts(compressed, config_.kv_lora_rank, config_.qk_rope_head_dim);
    k_pass = heads_of((*kv_b_proj_)((*kv_a_layernorm_)(k_pass)),
                      config_.qk_nope_head_dim + config_.v_head_dim);
    auto [nope, value] = parts(k_pass, config_.qk_nope_head_dim, config_.v_head_dim);
    k_pass = std::move(nope);
    k_rot = eager::view(k_rot, {batch, 1, length, config_.qk_rope_head_dim});
    rotate(q_rot, k_rot, inputs.positions);
    k_rot = eager::expand(k_rot, {batch, k_pass.size(1), length, -1});
    Tensor query = eager::cat(std::initializer_list<Tensor>{q_pass, q_rot}, -1);
    Tensor key = eager::cat(std::initializer_list<Tensor>{k_pass, k_rot}, -1);
    if (inputs.cache) {
      inputs.cache->update(key, value);
    }
    AttentionResult result = projected(query, key, value, inputs.mask);
    eager::end_of_frame(hidden_states, q_states, q_pass, q_rot, compressed, k_pass, k_rot);
    eager::end_of_frame(value, query, key);
    return result;
  }

  AttentionResult compressed_first(Tensor& hidden_states, const BlockInputs& inputs) const {
    const auto batch = hidden_states.size(0);
    const auto length = hidden_states.size(1);
    Tensor q_states = heads_of(queries(hidden_states), qk_head_dim(config_));
    auto [q_pass, q_rot] = parts(q_states, config_.qk_nope_head_dim, config_.qk_rope_head_dim);
    Tensor compressed = (*kv_a_proj_)(hidden_states);
    auto [kv_nope, k_rot] = parts(compressed, config_.kv_lora_rank, config_.qk_rope_head_dim);
    kv_nope = (*kv_a_layernorm_)(kv_nope);
    kv_nope = eager::view(kv_nope, {batch, 1, length, config_.kv_lora_rank});
    k_rot = eager::view(k_rot, {batch, 1, length, config_.qk_rope_head_dim});
    rotate(q_rot, k_rot, inputs.positions);
    if (inputs.cache) {
      inputs.cache->update(kv_nope, k_rot);
    }
    Tensor query = eager::cat(std::initializer_list<Tensor>{q_pass, q_rot}, -1);
    auto [key, value] = expand_kv(kv_nope, k_rot);
    AttentionResult result = projected(query, key, value, inputs.mask);
    eager::end_of_frame(hidden_states, q_states, q_pass, q_rot, compressed);
    if (config_.code->names_normed_latent) {
      eager::end_of_frame(k_rot, kv_nope);
    }
    eager::end_of_frame(kv_nope, k_rot, query, key, value);
    return result;
  }

  // expand_kv: keys are copied into a new tensor part by part.
  Pair expand_kv(const Tensor& latent, const Tensor& k_rot) const {
    const auto batch = latent.size(0);
    const auto length = latent.size(2);
    const auto nope = config_.qk_nope_head_dim;
    const Tensor flat = (*kv_b_proj_)(latent);
    Tensor states =
        eager::transpose(eager::view(flat, {batch, length, -1, nope + config_.v_head_dim}), 1, 2);
    auto [k_nope, value] = parts(states, nope, config_.v_head_dim);
    const auto heads = k_nope.size(1);
    const Tensor rotated = eager::expand(k_rot, {-1, heads, -1, -1});
    Tensor key =
        eager::empty(runtime(), {batch, heads, length, qk_head_dim(config_)}, states.dtype());
    key = eager::copy_into_columns_(key, 0, k_nope);
    key = eager::copy_into_columns_(key, nope, rotated);
    return {std::move(key), std::move(value)};
  }

  void rotate(Tensor& query, Tensor& key, const CosSin& positions) const {
    if (config_.code->rotation == LatentRotation::complex_numbers) {
      rotate_complex(query, key, positions.cos);
    } else if (config_.rope_interleave) {
      rotate_interleaved(query, key, positions);
    } else {
      rotate_halves(query, key, positions);
    }
  }

  AttentionResult projected(const Tensor& query, const Tensor& key, const Tensor& value,
                            const Tensor& mask) const {
    AttentionResult result = attend(query, key, value, mask);
    auto& output = result.output;
    output = eager::contiguous(eager::reshape(output, {query.size(0), query.size(2), -1}));
    output = (*o_proj_)(output);
    return result;
  }

  std::unique_ptr<nn::Linear> linear(std::string name, std::int64_t in, std::int64_t out,
                                     nn::Bias bias) {
    return std::make_unique<nn::Linear>(this, std::move(name), in, out, bias);
  }

  Tensor queries(const Tensor& hidden_states) const {
    if (!config_.q_lora_rank) {
      return (*q_proj_)(hidden_states);
    }
    return (*q_proj_)((*q_a_layernorm_)((*q_a_proj_)(hidden_states)));
  }

  static Tensor heads_of(const Tensor& states, std::int64_t head_dim) {
    return eager::transpose(eager::view(states, {states.size(0), states.size(1), -1, head_dim}), 1,
                            2);
  }

  static Pair parts(const Tensor& states, std::int64_t first, std::int64_t second) {
    auto both = eager::split_with_sizes(states, {first, second}, -1);
    return {std::move(both[0]), std::move(both[1])};
  }

  AttentionResult attend(const Tensor& query, const Tensor& key, const Tensor& value,
                         const Tensor& mask) const {
    const auto kv_heads = config_.num_key_value_heads.value_or(config_.num_attention_heads);
    AttentionCall call{
        .query = query,
        .key = key,
        .value = value,
        .mask = mask,
        .dropout = context().training ? context().dropout(config_.attention_dropout) : 0.0,
        .groups = config_.num_attention_heads / kv_heads,
        .is_grouped = true};
    return context().is_eager() ? eager_attention_fp32(context(), std::move(call))
                                : sdpa_attention(context(), std::move(call));
  }

  DeepseekV3Config config_;
  std::unique_ptr<nn::Linear> q_a_proj_;
  std::unique_ptr<Norm> q_a_layernorm_;
  std::unique_ptr<nn::Linear> q_proj_;  ///< of the rank's or the hidden width
  std::unique_ptr<nn::Linear> kv_a_proj_;
  std::unique_ptr<Norm> kv_a_layernorm_;
  std::unique_ptr<nn::Linear> kv_b_proj_;
  std::unique_ptr<nn::Linear> o_proj_;
};

GroupedMixture mixture_of(const DeepseekV3Config& config) {
  return {.hidden = config.hidden_size,
          .experts = config.n_routed_experts,
          .width = config.moe_intermediate_size,
          .shared_experts = config.n_shared_experts,
          .experts_per_token = config.num_experts_per_tok,
          .groups = config.n_group.value_or(1),
          .chosen_groups = config.topk_group.value_or(1),
          .normalizes = config.norm_topk_prob,
          .activation = config.hidden_act,
          .correction = config.code->correction,
          .by_softmax = config.code->gate == LatentGate::softmax,
          .limits_groups = config.limits_groups};
}

std::unique_ptr<FeedForward> make_latent_mlp(Module* parent, std::int64_t index,
                                             const DeepseekV3Config& config,
                                             const LlamaConfig& shape) {
  if (index < dense_layers(config)) {
    return make_gated_mlp(parent, "mlp", shape, config.intermediate_size);
  }
  return make_grouped_mixture(parent, mixture_of(config), shape);
}

// What the model around the blocks needs, without a window.
LlamaConfig frame_of(const DeepseekV3Config& config) {
  LlamaConfig result{.code = &config.code->frame};
  result.vocab_size = config.vocab_size;
  result.hidden_size = config.hidden_size;
  result.num_hidden_layers = config.num_hidden_layers;
  result.head_dim = config.qk_rope_head_dim;
  result.hidden_act = config.hidden_act;
  result.pad_token_id = config.pad_token_id;
  result.tie_word_embeddings = config.tie_word_embeddings;
  result.rope_parameters = config.rope_parameters;
  result.mlp_bias = config.mlp_bias;
  return result;
}

}  // namespace

std::unique_ptr<LanguageModel> make_model(nn::ModelContext& context,
                                          const DeepseekV3Config& config) {
  const LlamaConfig frame = frame_of(config);
  return make_decoder(context, frame, [&](Module* parent, std::int64_t index) {
    const auto attention = [&](Module* block) {
      return std::make_unique<LatentAttention>(block, config);
    };
    const auto mlp = [&](Module* block) { return make_latent_mlp(block, index, config, frame); };
    return make_decoder_layer(parent, index, frame, {attention, mlp});
  });
}

}  // namespace highwater::models
