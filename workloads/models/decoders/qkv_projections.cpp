// How attention makes queries, keys and values: three projections, or one that is cut.
#include <utility>

#include "workloads/models/decoders/self_attention.hpp"

namespace highwater::models {

namespace {

std::unique_ptr<nn::Linear> make_linear(Module* parent, std::string name, std::int64_t in,
                                        std::int64_t out, nn::Bias bias) {
  return std::make_unique<nn::Linear>(parent, std::move(name), in, out, bias);
}

}  // namespace

void SelfAttention::make_output() {
  o_proj_ =
      make_linear(this, code_.projection.output_name, config_.num_attention_heads * value_dim_,
                  config_.hidden_size, nn::bias_if(has_output_bias(config_)));
}

void SelfAttention::make_projections() {
  if (code_.projection.output_made == OutputMade::first) {
    make_output();
  }
  const std::int64_t hidden = config_.hidden_size;
  const std::int64_t queries = config_.num_attention_heads * head_dim_;
  const std::int64_t keys = kv_heads_ * head_dim_;
  const nn::Bias bias = nn::bias_if(has_qkv_bias(config_));
  if (code_.projection.qkv == QkvProjection::separate) {
    q_proj_ = make_linear(this, "q_proj", hidden, queries, bias);
    k_proj_ = make_linear(this, "k_proj", hidden, keys, bias);
    v_proj_ = make_linear(this, "v_proj", hidden, kv_heads_ * value_dim_, bias);
  } else {
    q_proj_ = make_linear(this, code_.projection.fused_name, hidden, queries + 2 * keys, bias);
  }
  if (code_.projection.output_made == OutputMade::last) {
    make_output();
  }
}

HeadStates SelfAttention::project(const Tensor& hidden_states) const {
  switch (code_.projection.qkv) {
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
  return views_heads_together() ? states : heads_of(states);
}

HeadStates SelfAttention::project_apart(const Tensor& hidden_states) const {
  HeadStates states;
  states.query = project_one(*q_proj_, q_norm_.get(), hidden_states);
  states.key = project_one(*k_proj_, k_norm_.get(), hidden_states);
  states.value = value_dim_ == head_dim_ ? project_one(*v_proj_, nullptr, hidden_states)
                                         : heads_of((*v_proj_)(hidden_states), value_dim_);
  if (code_.value_scale == ValueScale::number) {
    states.value = eager::mul(states.value, 1.0);
  }
  if (code_.gate == AttentionGate::plain) {
    states.gate = (*gate_proj_)(hidden_states);
  }
  if (views_heads_together()) {
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
  if (code_.kind == AttentionKind::baddbmm) {
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

}  // namespace highwater::models
