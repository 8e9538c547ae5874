// GPT-J (transformers 5.12 to 5.23, models/gptj/modeling_gptj.py).
#include "workloads/plan/model/families/gptj.hpp"

#include "workloads/models/gptj_rotary_module.hpp"

namespace highwater::models {

namespace {

class GptJAttention : public Module {
 public:
  GptJAttention(Module* parent, const GptJConfig& config)
      : Module(parent, "attn"),
        positions_(config.n_positions),
        heads_(config.n_head),
        head_dim_(config.n_embd / config.n_head),
        rotary_dim_(config.rotary_dim),
        attn_dropout_(this, "attn_dropout", config.attn_pdrop),
        resid_dropout_(this, "resid_dropout", config.resid_pdrop),
        k_proj_(this, "k_proj", config.n_embd, config.n_embd, nn::Bias::none),
        v_proj_(this, "v_proj", config.n_embd, config.n_embd, nn::Bias::none),
        q_proj_(this, "q_proj", config.n_embd, config.n_embd, nn::Bias::none),
        out_proj_(this, "out_proj", config.n_embd, config.n_embd, nn::Bias::none) {
    const nn::InModule scope(*this);
    embed_positions_ = sinusoidal_positions(context(), positions_, rotary_dim_);
    register_buffer("embed_positions", embed_positions_);
  }

  AttentionResult operator()(Tensor hidden_states, const GptJContext& about) const {
    const nn::InModule scope(*this);
    Tensor query = q_proj_(hidden_states);
    Tensor key = k_proj_(hidden_states);
    Tensor value = v_proj_(hidden_states);
    query = split_heads(query);
    key = split_heads(key);
    value = eager::permute(split_heads(value), {0, 2, 1, 3});
    Tensor embed_positions =
        eager::empty(runtime(), {1, positions_, rotary_dim_}, embed_positions_.dtype());
    Tensor repeated_ids =
        eager::empty(runtime(), {1, about.position_ids.size(1), rotary_dim_}, DType::int64);
    Tensor sincos = looked_up(embed_positions, repeated_ids, key.dtype());
    SinCos tables = halves(sincos);
    PartlyRotated k_parts(key, rotary_dim_);
    PartlyRotated q_parts(query, rotary_dim_);
    k_parts.rotated = apply_sinusoidal(k_parts.rotated, tables);
    q_parts.rotated = apply_sinusoidal(q_parts.rotated, tables);
    key = k_parts.joined();
    query = q_parts.joined();
    key = eager::permute(key, {0, 2, 1, 3});
    query = eager::permute(query, {0, 2, 1, 3});
    if (about.cache) {
      about.cache->update(key, value);
    }
    AttentionResult result =
        gptj_attend(query, key, value, about.attention_mask, attn_dropout_, MaskOrder::after_scale);
    result.output = gptj_merge_heads(result.output);
    result.output = out_proj_(result.output);
    result.output = resid_dropout_(result.output);
    eager::end_of_frame(hidden_states, query, key, value, embed_positions, repeated_ids, sincos);
    eager::end_of_frame(tables.sin, tables.cos);
    eager::end_of_frame(k_parts.rotated, k_parts.rest, q_parts.rotated, q_parts.rest);
    return result;
  }

  /// _init_weights computes the table once more and copies it.
  void initialize_again() const {
    const nn::InModule scope(*this);
    static_cast<void>(sinusoidal_positions(context(), positions_, rotary_dim_));
  }

 private:
  [[nodiscard]] Tensor split_heads(const Tensor& states) const {
    return eager::view(states, {states.size(0), states.size(1), heads_, head_dim_});
  }

  static Tensor looked_up(const Tensor& table, const Tensor& ids, DType dtype) {
    const Tensor found = eager::gather(table, 1, ids);
    return eager::to_dtype(found, dtype);
  }

  std::int64_t positions_;
  std::int64_t heads_;
  std::int64_t head_dim_;
  std::int64_t rotary_dim_;
  nn::Dropout attn_dropout_;
  nn::Dropout resid_dropout_;
  nn::Linear k_proj_;
  nn::Linear v_proj_;
  nn::Linear q_proj_;
  nn::Linear out_proj_;
  Tensor embed_positions_;
};

}  // namespace

std::unique_ptr<LanguageModel> make_model(nn::ModelContext& context, const GptJConfig& config) {
  if (context.runtime.transformers >= kGptJRotaryModule) {
    return make_gptj_with_rotary_module(context, gptj_shape(config), GptJProjections::separate);
  }
  return std::make_unique<GptJForCausalLm<GptJModel<GptJAttention, GptJConfig>>>(
      context, gptj_head(config.n_embd, config.vocab_size, config.tie_word_embeddings), config);
}

}  // namespace highwater::models
