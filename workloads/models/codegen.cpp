// CodeGen (transformers 5.12 to 5.23, models/codegen/modeling_codegen.py): GPT-J with one
// projection for queries, values and keys, laid out for four TPU cores.
#include "workloads/plan/model/families/codegen.hpp"

#include "workloads/models/gptj_rotary_module.hpp"

namespace highwater::models {

namespace {

class CodegenAttention : public Module {
 public:
  CodegenAttention(Module* parent, const CodegenConfig& config)
      : Module(parent, "attn"),
        positions_(config.n_positions),
        heads_(config.n_head),
        head_dim_(config.n_embd / config.n_head),
        rotary_dim_(config.rotary_dim),
        attn_dropout_(this, "attn_dropout", config.attn_pdrop),
        resid_dropout_(this, "resid_dropout", config.resid_pdrop),
        qkv_proj_(this, "qkv_proj", config.n_embd, 3 * config.n_embd, nn::Bias::none),
        out_proj_(this, "out_proj", config.n_embd, config.n_embd, nn::Bias::none) {
    const nn::InModule scope(*this);
    embed_positions_ = sinusoidal_positions(context(), positions_, rotary_dim_);
    register_buffer("embed_positions", embed_positions_);
  }

  AttentionResult operator()(Tensor hidden_states, const GptJContext& about) const {
    const nn::InModule scope(*this);
    Tensor qkv = qkv_proj_(hidden_states);
    auto parts = split_cores(qkv);
    Tensor query = split_heads(std::move(parts[0]));
    Tensor key = split_heads(std::move(parts[2]));
    Tensor value = eager::permute(split_heads(std::move(parts[1])), {0, 2, 1, 3});
    parts.clear();
    Tensor sincos = eager::index(embed_positions_, about.position_ids);
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
      update(*about.cache, key, value, hidden_states.dtype());
    }
    AttentionResult result = gptj_attend(query, key, value, about.attention_mask, attn_dropout_,
                                         MaskOrder::before_scale);
    result.output = gptj_merge_heads(result.output);
    result.output = out_proj_(result.output);
    result.output = resid_dropout_(result.output);
    eager::end_of_frame(hidden_states, qkv, query, value, key, sincos);
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
  // Query, value and key as [batch, seq, cores, elements of a core].
  [[nodiscard]] TensorList split_cores(const Tensor& qkv) const {
    const Tensor cores = eager::reshape(qkv, {qkv.size(0), qkv.size(1), kCodegenCores, -1});
    return eager::split(cores, head_dim_ * heads_ / kCodegenCores, -1);
  }

  [[nodiscard]] Tensor split_heads(Tensor x) const {
    const Tensor heads =
        eager::reshape(x, {x.size(0), x.size(1), x.size(2), heads_ / kCodegenCores, head_dim_});
    return eager::reshape(heads, {x.size(0), x.size(1), -1, head_dim_});
  }

  // layer_past.update(key.to(hidden_states.dtype), value): the old tensors outlive the call.
  static void update(nn::KeyValueCache& cache, Tensor& key, Tensor& value, DType dtype) {
    Tensor new_key = eager::to_dtype(key, dtype);
    Tensor new_value = value;
    cache.update(new_key, new_value);
    key = std::move(new_key);
    value = std::move(new_value);
  }

  std::int64_t positions_;
  std::int64_t heads_;
  std::int64_t head_dim_;
  std::int64_t rotary_dim_;
  nn::Dropout attn_dropout_;
  nn::Dropout resid_dropout_;
  nn::Linear qkv_proj_;
  nn::Linear out_proj_;
  Tensor embed_positions_;
};

}  // namespace

std::unique_ptr<LanguageModel> make_model(nn::ModelContext& context, const CodegenConfig& config) {
  if (context.runtime.transformers >= kGptJRotaryModule) {
    return make_gptj_with_rotary_module(context, gptj_shape(config), GptJProjections::four_cores);
  }
  return std::make_unique<GptJForCausalLm<GptJModel<CodegenAttention, CodegenConfig>>>(
      context, gptj_head(config.n_embd, config.vocab_size, config.tie_word_embeddings), config);
}

}  // namespace highwater::models
