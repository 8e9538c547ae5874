#include "workloads/megatron/attention/self_attention.hpp"

#include <vector>

#include "workloads/megatron/attention/rotary.hpp"
#include "workloads/megatron/layers/fused_ops.hpp"
#include "workloads/nn/checkpoint.hpp"
#include "workloads/nn/layers.hpp"
#include "workloads/plan/training_plan.hpp"

namespace highwater::megatron {
namespace {

using ColumnBias = ColumnParallelLinear::Bias;

}  // namespace

SelfAttention::SelfAttention(nn::Module* parent, const LayerContext& shared)
    : Module(parent, "self_attention"),
      shared_(shared),
      head_dim_(shared.config.head_dim),
      groups_(shared.config.kv_heads / shared.tp.size()),
      per_group_(shared.config.heads / shared.config.kv_heads),
      linear_proj_(this, "linear_proj", shared.tp, shared.config.heads * head_dim_,
                   shared.config.hidden, nn::bias_if(shared.config.linear_bias)),
      linear_qkv_(this, "linear_qkv", shared.tp, shared.config.hidden,
                  (shared.config.heads + 2 * shared.config.kv_heads) * head_dim_,
                  shared.config.qkv_bias ? ColumnBias::added : ColumnBias::none) {}

WithBias SelfAttention::operator()(Tensor hidden_states, const Tensor& frequencies) const {
  const nn::InModule scope(*this);
  QueryKeyValue split_up =
      split(hidden_states);  // the tuple outlives the names it is unpacked into
  QueryKeyValue states = split_up;
  if (frequencies.defined()) {
    states.query = embed_positions(states.query, frequencies);
    states.key = embed_positions(states.key, frequencies);
  }
  Tensor mixed = core_attention(states);
  WithBias result = linear_proj_(mixed);
  eager::end_of_frame(split_up.query, split_up.key, split_up.value, states.query, states.key,
                      states.value, mixed);
  return result;
}

Tensor SelfAttention::embed_positions(const Tensor& states, const Tensor& frequencies) const {
  return context().plan.parallel.megatron.rope_fusion ? rotate(states, frequencies)
                                                      : composed_rotary(states, frequencies);
}

QueryKeyValue SelfAttention::split(const Tensor& hidden_states) const {
  const Tensor mixed = linear_qkv_(hidden_states).output;
  const std::int64_t s = mixed.size(0);
  const std::int64_t b = mixed.size(1);
  const Tensor by_group = eager::view(mixed, {s, b, groups_, (per_group_ + 2) * head_dim_});
  const TensorList parts =
      eager::split_with_sizes(by_group, {per_group_ * head_dim_, head_dim_, head_dim_}, 3);
  return {eager::reshape(parts[0], {s, b, -1, head_dim_}), parts[1], parts[2]};
}

Tensor SelfAttention::run_core(const QueryKeyValue& states) const {
  if (shared_.cp.size() > 1) {
    const double dropout = context().dropout(shared_.config.attention_dropout);
    return shared_.cp.attend(states.query, states.key, states.value,
                             context().training ? dropout : 0.0);
  }
  return context().is_eager() ? UnfusedCore(context(), shared_)(states)
                              : FlashCore(context(), shared_)(states);
}

Tensor SelfAttention::core_attention(const QueryKeyValue& states) const {
  if (context().plan.checkpoint.kind != CheckpointKind::selective_attention ||
      !context().training) {
    return run_core(states);
  }
  const auto segment = [this](const std::vector<Tensor>& in) {
    return TensorList{run_core({in[0], in[1], in[2]})};
  };
  return nn::checkpoint_reentrant(runtime(), segment, {states.query, states.key, states.value})[0];
}

}  // namespace highwater::megatron
