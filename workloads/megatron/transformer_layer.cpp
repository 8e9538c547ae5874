#include "workloads/megatron/transformer_layer.hpp"

#include <string>
#include <utility>

#include "workloads/megatron/layers/engine.hpp"
#include "workloads/megatron/layers/fused_ops.hpp"
#include "workloads/megatron/layers/layers.hpp"

namespace highwater::megatron {
namespace {

class Mlp : public FeedForward {
 public:
  Mlp(nn::Module* parent, const LayerContext& shared)
      : FeedForward(parent, "mlp"),
        gated_(shared.config.gated),
        linear_fc1_(
            make_first_linear(this, "linear_fc1", shared, shared.config.ffn * (gated_ ? 2 : 1),
                              shared.config.linear_bias ? SplitBias::skipped : SplitBias::none)),
        linear_fc2_(make_last_linear(this, "linear_fc2", shared, shared.config.ffn)) {}

  WithBias operator()(Tensor hidden_states) const override {
    const nn::InModule scope(*this);
    Tensor inner = activated(hidden_states);
    return (*linear_fc2_)(std::move(inner));
  }

 private:
  [[nodiscard]] Tensor activated(const Tensor& hidden_states) const {
    const WithBias wide = (*linear_fc1_)(hidden_states);
    return gated_ ? swiglu(wide.output) : bias_gelu(wide.output, wide.bias);
  }

  bool gated_;
  std::unique_ptr<SplitLinear> linear_fc1_;
  std::unique_ptr<SplitLinear> linear_fc2_;
};

/// None where the layer behind it contains the norm, as Transformer Engine's linear layers do.
std::unique_ptr<Norm> make_norm(nn::Module* parent, std::string name, const Config& config,
                                bool is_within) {
  return is_within ? nullptr : std::make_unique<Norm>(parent, std::move(name), config);
}

std::unique_ptr<FeedForward> make_feed_forward(nn::Module* parent, const LayerContext& shared) {
  if (shared.config.experts > 0) {
    return make_moe_layer(parent, shared.config, shared.tp, shared.experts);
  }
  return std::make_unique<Mlp>(parent, shared);
}

}  // namespace

TransformerLayer::TransformerLayer(nn::Module* parent, std::size_t index,
                                   const LayerContext& shared)
    : Module(parent, std::to_string(index)),
      dropout_(context().dropout(shared.config.hidden_dropout)),
      input_layernorm_(make_norm(this, "input_layernorm", shared.config, uses_engine(context()))),
      self_attention_(this, shared),
      pre_mlp_layernorm_(make_norm(this, "pre_mlp_layernorm", shared.config,
                                   uses_engine(context()) && shared.config.experts == 0)),
      mlp_(make_feed_forward(this, shared)) {}

Tensor TransformerLayer::operator()(Tensor hidden_states, const Tensor& frequencies) const {
  const nn::InModule scope(*this);
  const Tensor middle = attend(hidden_states, frequencies);
  Tensor normalized = pre_mlp_layernorm_ ? (*pre_mlp_layernorm_)(middle) : middle;
  WithBias result = (*mlp_)(normalized);
  Tensor output = add(result, middle);
  eager::end_of_frame(normalized, result.output);
  return output;
}

Tensor TransformerLayer::attend(const Tensor& hidden_states, const Tensor& frequencies) const {
  const Tensor normalized = input_layernorm_ ? (*input_layernorm_)(hidden_states) : hidden_states;
  const WithBias attended = self_attention_(normalized, frequencies);
  return add(attended, hidden_states);
}

Tensor TransformerLayer::add(const WithBias& x, const Tensor& residual) const {
  return bias_dropout_add(x.output, x.bias, residual, context().training ? dropout_ : 0.0);
}

}  // namespace highwater::megatron
