#include "workloads/megatron/moe/mlp.hpp"

#include <utility>

#include "workloads/megatron/layers/engine.hpp"
#include "workloads/megatron/layers/fused_ops.hpp"

namespace highwater::megatron {
namespace {

std::unique_ptr<SplitLinear> make_fc1(nn::Module* parent, const LayerContext& shared,
                                      std::int64_t columns, MlpInput input) {
  const LinearSize size{.in = shared.config.hidden, .out = columns};
  if (input == MlpInput::normalized) {
    return make_column_linear(parent, "linear_fc1", shared, size);
  }
  return make_first_linear(parent, "linear_fc1", shared, size,
                           shared.config.linear_bias ? SplitBias::skipped : SplitBias::none);
}

}  // namespace

Mlp::Mlp(nn::Module* parent, std::string name, const LayerContext& shared, std::int64_t width,
         MlpInput input)
    : FeedForward(parent, std::move(name)),
      gated_(shared.config.gated),
      linear_fc1_(make_fc1(this, shared, width * (gated_ ? 2 : 1), input)),
      linear_fc2_(make_last_linear(this, "linear_fc2", shared, width)) {}

WithBias Mlp::operator()(Tensor hidden_states) const {
  const nn::InModule scope(*this);
  Tensor inner = activated(hidden_states);
  return (*linear_fc2_)(std::move(inner));
}

Tensor Mlp::activated(const Tensor& hidden_states) const {
  const WithBias wide = (*linear_fc1_)(hidden_states);
  return gated_ ? swiglu(wide.output) : bias_gelu(wide.output, wide.bias);
}

}  // namespace highwater::megatron
