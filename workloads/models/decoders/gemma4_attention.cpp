#include "workloads/models/decoders/gemma4_attention.hpp"

#include <utility>

namespace highwater::models {

namespace {

bool is_last_of_its_kind(const LlamaConfig& config, std::int64_t layer) {
  const bool slides = window_of(config, layer).has_value();
  for (std::int64_t later = layer + 1; later < config.num_hidden_layers; ++later) {
    if (window_of(config, later).has_value() == slides) {
      return false;
    }
  }
  return true;
}

}  // namespace

Gemma4Attention::Gemma4Attention(Module* parent, std::int64_t layer, const LlamaConfig& config)
    : DecoderAttention(parent, "self_attn"),
      config_(config),
      stores_(is_last_of_its_kind(config, layer)),
      head_dim_(head_dim_of(config, layer)),
      q_proj_(this, "q_proj", config.hidden_size, config.num_attention_heads * head_dim_,
              nn::bias_if(config.attention_bias)),
      q_norm_(this, "q_norm", head_dim_, NormKind::power),
      k_norm_(this, "k_norm", head_dim_, NormKind::power),
      v_norm_(this, "v_norm", head_dim_, NormKind::power_plain),
      k_proj_(this, "k_proj", config.hidden_size, kv_heads_of(config) * head_dim_,
              nn::bias_if(config.attention_bias)),
      v_proj_(this, "v_proj", config.hidden_size, kv_heads_of(config) * head_dim_,
              nn::bias_if(config.attention_bias)),
      o_proj_(this, "o_proj", config.num_attention_heads * head_dim_, config.hidden_size,
              nn::bias_if(config.attention_bias)) {}

Tensor Gemma4Attention::heads(const Tensor& projected) const {
  return eager::view(projected, {projected.size(0), projected.size(1), -1, head_dim_});
}

// apply_rotary_pos_emb(states, cos, sin, unsqueeze_dim=2)
Tensor Gemma4Attention::turned(const Tensor& states, const CosSin& positions) const {
  const Tensor cos = eager::unsqueeze(positions.cos, 2);
  const Tensor sin = eager::unsqueeze(positions.sin, 2);
  return apply_rotary(states, cos, sin);
}

void Gemma4Attention::leave_behind(const BlockInputs& inputs, const Tensor& key,
                                   const Tensor& value) const {
  if (stores_ && inputs.shared) {
    (inputs.slides ? inputs.shared->windowed : inputs.shared->full).keep(key, value);
  }
}

AttentionResult Gemma4Attention::operator()(Tensor hidden_states, const BlockInputs& inputs) const {
  const nn::InModule scope(*this);
  Tensor query = heads(q_proj_(hidden_states));
  query = q_norm_(query);
  query = turned(query, inputs.positions);
  query = eager::transpose(query, 1, 2);
  Tensor key = heads(k_proj_(hidden_states));
  Tensor value = heads(v_proj_(hidden_states));
  key = k_norm_(key);
  key = turned(key, inputs.positions);
  key = eager::transpose(key, 1, 2);
  value = v_norm_(value);
  value = eager::transpose(value, 1, 2);
  if (inputs.cache && inputs.slides) {
    inputs.cache->update_sliding(key, value);
  } else if (inputs.cache) {
    inputs.cache->update(key, value);
  }
  leave_behind(inputs, key, value);
  AttentionCall call{
      .query = query,
      .key = key,
      .value = value,
      .mask = inputs.mask,
      .dropout = context().training ? context().dropout(config_.attention_dropout) : 0.0,
      .groups = config_.num_attention_heads / kv_heads_of(config_),
      .is_grouped = true};
  AttentionResult result = context().is_eager() ? eager_attention_fp32(context(), std::move(call))
                                                : sdpa_attention(context(), std::move(call));
  auto& output = result.output;
  output = eager::contiguous(eager::reshape(output, {output.size(0), output.size(1), -1}));
  output = o_proj_(output);
  eager::end_of_frame(hidden_states, query, key, value);
  return result;
}

}  // namespace highwater::models
