#include "workloads/megatron/attention/self_attention.hpp"

#include <vector>

#include "workloads/megatron/attention/rotary.hpp"
#include "workloads/megatron/layers/engine.hpp"
#include "workloads/megatron/layers/fused_ops.hpp"
#include "workloads/megatron/layers/recomputation.hpp"
#include "workloads/megatron/transformer_engine/attention.hpp"
#include "workloads/nn/layers.hpp"
#include "workloads/plan/training_plan.hpp"

namespace highwater::megatron {
SelfAttention::SelfAttention(nn::Module* parent, const LayerContext& shared)
    : AttentionPart(parent, "self_attention"),
      shared_(shared),
      head_dim_(shared.config.head_dim),
      groups_(shared.config.kv_heads / shared.tp.size()),
      per_group_(shared.config.heads / shared.config.kv_heads),
      linear_proj_(make_last_linear(this, "linear_proj", shared, shared.config.heads * head_dim_)),
      linear_qkv_(
          make_first_linear(this, "linear_qkv", shared,
                            {.in = shared.config.hidden,
                             .out = (shared.config.heads + 2 * shared.config.kv_heads) * head_dim_},
                            shared.config.qkv_bias ? SplitBias::added : SplitBias::none)) {
  if (shared.config.qk_norm) {
    q_layernorm_ = std::make_unique<Norm>(this, "q_layernorm", shared.config, head_dim_);
    k_layernorm_ = std::make_unique<Norm>(this, "k_layernorm", shared.config, head_dim_);
  }
}

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
  WithBias result = (*linear_proj_)(mixed);
  eager::end_of_frame(split_up.value, split_up.key, split_up.query, states.query, states.key,
                      states.value, mixed);  // a tuple lets go of its last element first
  return result;
}

Tensor SelfAttention::embed_positions(const Tensor& states, const Tensor& frequencies) const {
  return context().plan.parallel.megatron.rope_fusion ? rotate(states, frequencies)
                                                      : composed_rotary(states, frequencies);
}

QueryKeyValue SelfAttention::split(const Tensor& hidden_states) const {
  const Tensor mixed = (*linear_qkv_)(hidden_states).output;
  const std::int64_t s = mixed.size(0);
  const std::int64_t b = mixed.size(1);
  const Tensor by_group = eager::view(mixed, {s, b, groups_, (per_group_ + 2) * head_dim_});
  const TensorList parts =
      eager::split_with_sizes(by_group, {per_group_ * head_dim_, head_dim_, head_dim_}, 3);
  QueryKeyValue states{eager::reshape(parts[0], {s, b, -1, head_dim_}), parts[1], parts[2]};
  if (q_layernorm_) {
    states.query = (*q_layernorm_)(states.query);
    states.key = (*k_layernorm_)(states.key);
  }
  return states;
}

Tensor SelfAttention::run_core(const QueryKeyValue& states) const {
  const double dropout =
      context().training ? context().dropout(shared_.config.attention_dropout) : 0.0;
  if (shared_.cp.size() > 1) {
    return shared_.cp.attend(states.query, states.key, states.value, dropout);
  }
  if (takes_cudnn()) {
    return fused_attention(states.query, states.key, states.value, dropout);
  }
  return context().is_eager() ? UnfusedCore(context(), shared_)(states)
                              : FlashCore(context(), shared_)(states);
}

// get_attention_backend: cuDNN's is preferred from compute capability 9.0 on, the package
// flash-attn before it.
bool SelfAttention::takes_cudnn() const {
  const Attention asked = context().plan.attention;
  const bool is_own_choice = asked == Attention::sdpa && runtime().gpu.major >= 9;
  return uses_engine(context()) && (asked == Attention::sdpa_cudnn || is_own_choice);
}

Tensor SelfAttention::core_attention(const QueryKeyValue& states) const {
  const auto segment = [this](const std::vector<Tensor>& in) {
    return TensorList{run_core({in[0], in[1], in[2]})};
  };
  return checkpointed(context(), RecomputeModule::core_attention, segment,
                      {states.query, states.key, states.value})[0];
}

}  // namespace highwater::megatron
