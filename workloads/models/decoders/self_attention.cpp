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

void update_cache(HeadStates& states, const BlockInputs& inputs) {
  if (inputs.cache && inputs.slides) {
    inputs.cache->update_sliding(states.key, states.value);
  } else if (inputs.cache) {
    inputs.cache->update(states.key, states.value);
  }
}

}  // namespace

SelfAttention::SelfAttention(Module* parent, std::int64_t layer, const LlamaConfig& config)
    : DecoderAttention(parent, config.code->attention.name),
      config_(config),
      code_(config.code->attention),
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

void SelfAttention::make_norms() {
  if (config_.code->block.has_sub_norms) {
    sub_norm_ = std::make_unique<Norm>(this, "attn_sub_norm", config_.hidden_size,
                                       config_.code->block.norm);
  }
  if (qk_norm_ == QkNorm::none) {
    return;
  }
  const auto make = [this](const char* name, std::int64_t heads) {
    const Dims sizes = qk_norm_ == QkNorm::per_head ? Dims{heads, head_dim_}
                       : qk_norm_ == QkNorm::whole  ? Dims{heads * head_dim_}
                                                    : Dims{head_dim_};
    return std::make_unique<Norm>(this, name, sizes, code_.qk_norm.kind);
  };
  q_norm_ = make(code_.qk_norm.query_name, config_.num_attention_heads);
  k_norm_ = make(code_.qk_norm.key_name, kv_heads_of(config_));
}

AttentionResult SelfAttention::operator()(Tensor hidden_states, const BlockInputs& inputs) const {
  const nn::InModule scope(*this);
  HeadStates states = project(hidden_states);
  if (qk_norm_ == QkNorm::before_rotation) {
    normalize(states);
  }
  if (is_rotated_) {
    rotate(states, inputs.positions, config_.code->positions.rotation);
  }
  if (qk_norm_ == QkNorm::after_rotation) {
    normalize(states);
  }
  if (inputs.query_scale.defined() && !is_rotated_) {
    scale_queries(states, inputs.query_scale);
  }
  update_cache(states, inputs);
  AttentionResult result = attend(states, inputs.mask);
  auto& output = result.output;
  if (gate_bias_.defined()) {
    output = opened(states, output, hidden_states);
  }
  output = eager::contiguous(eager::reshape(output, {output.size(0), output.size(1), -1}));
  if (code_.gate == AttentionGate::plain) {
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
      .is_grouped = code_.projection.qkv != QkvProjection::head_parts,
      .caps_scores = config_.attn_logit_softcapping.has_value()};
  return context().is_eager() ? eager_attention_fp32(context(), std::move(call))
                              : sdpa_attention(context(), std::move(call));
}

std::unique_ptr<DecoderAttention> make_attention(Module* parent, std::int64_t layer,
                                                 const LlamaConfig& config) {
  switch (config.code->attention.kind) {
    case AttentionKind::differential:
      return std::make_unique<DifferentialAttention>(parent, layer, config);
    case AttentionKind::baddbmm:
      return std::make_unique<BaddbmmAttention>(parent, layer, config);
    case AttentionKind::normed_values:
      return std::make_unique<Gemma4Attention>(parent, layer, config);
    case AttentionKind::plain:
      break;
  }
  return std::make_unique<SelfAttention>(parent, layer, config);
}

}  // namespace highwater::models
