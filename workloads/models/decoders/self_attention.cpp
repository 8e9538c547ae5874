// LlamaAttention and its relatives (transformers 5.23): projections, norms of queries and keys,
// rotary positions, cache, attention, output.
#include "workloads/models/decoders/self_attention.hpp"

#include <utility>

#include "workloads/models/decoders/baddbmm_attention.hpp"
#include "workloads/models/decoders/differential_attention.hpp"
#include "workloads/models/decoders/family_dropout.hpp"
#include "workloads/models/decoders/gemma4_attention.hpp"

namespace highwater::models {

namespace {

std::unique_ptr<nn::Linear> make_linear(Module* parent, std::string name, std::int64_t in,
                                        std::int64_t out, bool with_bias) {
  return std::make_unique<nn::Linear>(parent, std::move(name), in, out, nn::bias_if(with_bias));
}

void update_cache(HeadStates& states, const BlockInputs& inputs) {
  if (inputs.cache && inputs.slides) {
    inputs.cache->update_sliding(states.key, states.value);
  } else if (inputs.cache) {
    inputs.cache->update(states.key, states.value);
  }
}

}  // namespace

SelfAttention::SelfAttention(Module* parent, std::int64_t layer, const LlamaConfig& config)
    : DecoderAttention(parent, config.code->attention_name),
      config_(config),
      code_(*config.code),
      qk_norm_(qk_norm_of(config)),
      is_rotated_(is_rotated(config, layer)),
      has_sinks_(has_sinks(config, layer)),
      kv_heads_(kv_heads_of(config, layer)),
      head_dim_(head_dim_of(config)),
      value_dim_(value_dim_of(config)) {
  make_projections();
  make_norms();
  make_gate();
}

void SelfAttention::make_gate() {
  if (code_.attention_gate != AttentionGate::none) {
    gate_proj_ = make_linear(this, "gate_proj", config_.hidden_size,
                             config_.num_attention_heads * head_dim_, false);
  }
  if (code_.attention_gate == AttentionGate::biased) {
    const nn::InModule scope(*this);
    gate_bias_ = make_parameter("gate_bias", {config_.num_attention_heads});
  }
  if (has_sinks_) {
    const nn::InModule scope(*this);
    sinks_ = make_parameter("sinks", {config_.num_attention_heads});
  }
}

void SelfAttention::make_output() {
  o_proj_ = make_linear(this, code_.output_name, config_.num_attention_heads * value_dim_,
                        config_.hidden_size, has_output_bias(config_));
}

void SelfAttention::make_projections() {
  if (code_.makes_output_first) {
    make_output();
  }
  const std::int64_t hidden = config_.hidden_size;
  const std::int64_t queries = config_.num_attention_heads * head_dim_;
  const std::int64_t keys = kv_heads_ * head_dim_;
  const bool with_bias = has_qkv_bias(config_);
  if (code_.projection == QkvProjection::separate) {
    q_proj_ = make_linear(this, "q_proj", hidden, queries, with_bias);
    k_proj_ = make_linear(this, "k_proj", hidden, keys, with_bias);
    v_proj_ = make_linear(this, "v_proj", hidden, kv_heads_ * value_dim_, with_bias);
  } else {
    q_proj_ = make_linear(this, code_.fused_name, hidden, queries + 2 * keys, with_bias);
  }
  if (!code_.makes_output_first) {
    make_output();
  }
}

void SelfAttention::make_norms() {
  if (code_.has_sub_norms) {
    sub_norm_ = std::make_unique<Norm>(this, "attn_sub_norm", config_.hidden_size, code_.norm);
  }
  if (qk_norm_ == QkNorm::none) {
    return;
  }
  const auto make = [this](const char* name, std::int64_t heads) {
    const Dims sizes = qk_norm_ == QkNorm::per_head ? Dims{heads, head_dim_}
                       : qk_norm_ == QkNorm::whole  ? Dims{heads * head_dim_}
                                                    : Dims{head_dim_};
    return std::make_unique<Norm>(this, name, sizes, code_.qk_norm_kind);
  };
  q_norm_ = make(code_.q_norm_name, config_.num_attention_heads);
  k_norm_ = make(code_.k_norm_name, kv_heads_of(config_));
}

AttentionResult SelfAttention::operator()(Tensor hidden_states, const BlockInputs& inputs) const {
  const nn::InModule scope(*this);
  HeadStates states = project(hidden_states);
  if (qk_norm_ == QkNorm::before_rotation) {
    normalize(states);
  }
  if (is_rotated_) {
    rotate(states, inputs.positions, code_.rotation);
  }
  if (qk_norm_ == QkNorm::after_rotation) {
    normalize(states);
  }
  if (inputs.query_scale.defined() && !is_rotated_) {
    Tensor wide = eager::to_dtype(states.query, DType::fp32);
    Tensor scaled = eager::mul(wide, inputs.query_scale);
    wide.reset();
    Tensor narrow = eager::to_dtype(scaled, states.query.dtype());
    scaled.reset();
    states.query = std::move(narrow);
  }
  update_cache(states, inputs);
  AttentionResult result = attend(states, inputs.mask);
  auto& output = result.output;
  if (gate_bias_.defined()) {
    output = opened(states, output, hidden_states);
  }
  output = eager::contiguous(eager::reshape(output, {output.size(0), output.size(1), -1}));
  if (code_.attention_gate == AttentionGate::plain) {
    states.opened = opened(states, output, hidden_states);
    output = states.opened;
  }
  if (sub_norm_) {
    output = (*sub_norm_)(output);
  }
  output = (*o_proj_)(output);
  output = output_dropout(config_)(context(), output);
  eager::end_of_frame(hidden_states, states.fused, states.query, states.key, states.value);
  eager::end_of_frame(states.gate, states.opened);
  for (Tensor& local : states.locals) {
    local.reset();
  }
  eager::end_of_frame(states.turned_query, states.rest_query, states.turned_key, states.rest_key);
  return result;
}

HeadStates SelfAttention::project(const Tensor& hidden_states) const {
  switch (code_.projection) {
    case QkvProjection::columns:
      return project_columns(hidden_states);
    case QkvProjection::head_parts:
      return project_head_parts(hidden_states);
    case QkvProjection::separate:
      break;
  }
  return project_apart(hidden_states);
}

// [batch, heads, seq, head_dim]
Tensor SelfAttention::heads_of(const Tensor& projected, std::int64_t head_dim) const {
  return eager::transpose(
      eager::view(projected, {projected.size(0), projected.size(1), -1, head_dim}), 1, 2);
}

Tensor SelfAttention::heads_of(const Tensor& projected) const {
  return heads_of(projected, head_dim_);
}

// The output behind its gate, which is a variable of the frame.
Tensor SelfAttention::opened(HeadStates& states, const Tensor& output, const Tensor& input) const {
  if (gate_bias_.defined()) {
    Tensor gate = eager::view((*gate_proj_)(input), output.sizes());
    const Tensor bias = eager::view(gate_bias_, {1, 1, -1, 1});
    states.gate = eager::add(gate, bias);
  }
  Tensor share = eager::sigmoid(states.gate);
  Tensor result = eager::mul(output, share);
  share.reset();
  return result;
}

// One projection, with what follows before the next one.
Tensor SelfAttention::project_one(const nn::Linear& projection, const Norm* norm,
                                  const Tensor& hidden_states) const {
  Tensor states = projection(hidden_states);
  if (norm != nullptr && qk_norm_ == QkNorm::in_projection) {
    states = eager::view(states, {states.size(0), states.size(1), -1, head_dim_});
    return eager::transpose((*norm)(states), 1, 2);
  }
  if (norm != nullptr && qk_norm_ == QkNorm::whole) {
    states = (*norm)(states);
  }
  return code_.views_heads_late ? states : heads_of(states);
}

HeadStates SelfAttention::project_apart(const Tensor& hidden_states) const {
  HeadStates states;
  states.query = project_one(*q_proj_, q_norm_.get(), hidden_states);
  states.key = project_one(*k_proj_, k_norm_.get(), hidden_states);
  states.value = value_dim_ == head_dim_ ? project_one(*v_proj_, nullptr, hidden_states)
                                         : heads_of((*v_proj_)(hidden_states), value_dim_);
  if (code_.scales_values) {
    states.value = eager::mul(states.value, 1.0);
  }
  if (code_.attention_gate == AttentionGate::plain) {
    states.gate = (*gate_proj_)(hidden_states);
  }
  if (code_.views_heads_late) {
    states = with_heads(std::move(states));
  }
  if (qk_norm_ == QkNorm::per_head || qk_norm_ == QkNorm::before_transpose) {
    states.query = eager::transpose((*q_norm_)(eager::transpose(states.query, 1, 2)), 1, 2);
    states.key = eager::transpose((*k_norm_)(eager::transpose(states.key, 1, 2)), 1, 2);
  }
  return states;
}

HeadStates SelfAttention::with_heads(HeadStates states) const {
  states.query = heads_of(states.query);
  states.key = heads_of(states.key);
  states.value = heads_of(states.value);
  return states;
}

// qkv[..., :query_pos] and so on
HeadStates SelfAttention::project_columns(const Tensor& hidden_states) const {
  const std::int64_t queries = config_.num_attention_heads * head_dim_;
  const std::int64_t keys = kv_heads_of(config_) * head_dim_;
  HeadStates states{.fused = (*q_proj_)(hidden_states)};
  states.query = eager::slice(states.fused, -1, 0, queries);
  states.key = eager::slice(states.fused, -1, queries, queries + keys);
  states.value = eager::slice(states.fused, -1, queries + keys, eager::kEnd);
  return with_heads(std::move(states));
}

// qkv[..., :head_size].permute(0, 2, 1, 3) and so on
HeadStates SelfAttention::slice_head_parts(const Tensor& projected) const {
  HeadStates states;
  states.fused = eager::view(projected, {projected.size(0), projected.size(1), -1, 3 * head_dim_});
  const auto part = [&](std::int64_t number, std::int64_t end) {
    const Tensor columns = eager::slice(states.fused, -1, number * head_dim_, end);
    return eager::permute(columns, {0, 2, 1, 3});
  };
  states.query = part(0, head_dim_);
  states.key = part(1, 2 * head_dim_);
  states.value = part(2, eager::kEnd);
  return states;
}

// view(..., -1, 3 * head_size).transpose(1, 2).chunk(3, dim=-1)
HeadStates SelfAttention::project_head_parts(const Tensor& hidden_states) const {
  HeadStates states;
  const Tensor projected = (*q_proj_)(hidden_states);
  if (code_.attention == AttentionCode::baddbmm) {
    return slice_head_parts(projected);
  }
  states.fused = eager::transpose(
      eager::view(projected, {projected.size(0), projected.size(1), -1, 3 * head_dim_}), 1, 2);
  const auto parts = eager::chunk(states.fused, 3, -1);
  states.query = parts[0];
  states.key = parts[1];
  states.value = parts[2];
  return states;
}

void SelfAttention::normalize(HeadStates& states) const {
  states.query = (*q_norm_)(states.query);
  states.key = (*k_norm_)(states.key);
}

AttentionResult SelfAttention::attend(HeadStates& states, const Tensor& mask) const {
  return attend_to(states.query, states.key, states.value, mask);
}

AttentionResult SelfAttention::attend_to(const Tensor& query, const Tensor& key,
                                         const Tensor& value, const Tensor& mask) const {
  const std::int64_t groups = config_.num_attention_heads / kv_heads_;
  AttentionCall call{
      .query = query,
      .key = key,
      .value = value,
      .mask = mask,
      .sinks = sinks_,
      .shifts_scores = code_.sinks == SinkCode::in_softmax,
      .dropout = context().training ? context().dropout(config_.attention_dropout) : 0.0,
      .groups = groups,
      .is_grouped = code_.projection != QkvProjection::head_parts,
      .caps_scores = config_.attn_logit_softcapping.has_value()};
  return context().is_eager() ? eager_attention_fp32(context(), std::move(call))
                              : sdpa_attention(context(), std::move(call));
}

std::unique_ptr<DecoderAttention> make_attention(Module* parent, std::int64_t layer,
                                                 const LlamaConfig& config) {
  switch (config.code->attention) {
    case AttentionCode::differential:
      return std::make_unique<DifferentialAttention>(parent, layer, config);
    case AttentionCode::baddbmm:
      return std::make_unique<BaddbmmAttention>(parent, layer, config);
    case AttentionCode::normed_values:
      return std::make_unique<Gemma4Attention>(parent, layer, config);
    case AttentionCode::plain:
      break;
  }
  return std::make_unique<SelfAttention>(parent, layer, config);
}

}  // namespace highwater::models
