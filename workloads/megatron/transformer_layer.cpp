#include "workloads/megatron/transformer_layer.hpp"

#include <string>
#include <utility>

#include "workloads/megatron/attention/latent_attention.hpp"
#include "workloads/megatron/attention/self_attention.hpp"
#include "workloads/megatron/layers/engine.hpp"
#include "workloads/megatron/layers/fused_ops.hpp"
#include "workloads/megatron/layers/layers.hpp"
#include "workloads/megatron/moe/mlp.hpp"

namespace highwater::megatron {
namespace {

/// None where the layer behind it contains the norm, as Transformer Engine's linear layers do.
std::unique_ptr<Norm> make_norm(nn::Module* parent, std::string name, const Config& config,
                                bool is_within) {
  return is_within ? nullptr : std::make_unique<Norm>(parent, std::move(name), config);
}

std::unique_ptr<FeedForward> make_feed_forward(nn::Module* parent, const LayerContext& shared,
                                               bool has_experts) {
  if (has_experts) {
    return make_moe_layer(parent, shared);
  }
  const Config& config = shared.config;
  const std::int64_t width = config.experts > 0 ? config.dense_ffn : config.ffn;
  return std::make_unique<Mlp>(parent, "mlp", shared, width, MlpInput::states);
}

std::unique_ptr<AttentionPart> make_attention(nn::Module* parent, const LayerContext& shared) {
  if (shared.config.latent) {
    return std::make_unique<LatentSelfAttention>(parent, shared);
  }
  return std::make_unique<SelfAttention>(parent, shared);
}

}  // namespace

TransformerLayer::TransformerLayer(nn::Module* parent, std::size_t index,
                                   const LayerContext& shared, std::int64_t first_layer)
    : Module(parent, std::to_string(index)),
      mixes_(has_experts(shared.config, first_layer + static_cast<std::int64_t>(index))),
      dropout_(context().dropout(shared.config.hidden_dropout)) {
  const Config& config = shared.config;
  const bool is_engine = uses_engine(context());
  input_layernorm_ = make_norm(this, "input_layernorm", config, is_engine && !config.latent);
  self_attention_ = make_attention(this, shared);
  pre_mlp_layernorm_ = make_norm(this, "pre_mlp_layernorm", config, is_engine && !mixes_);
  mlp_ = make_feed_forward(this, shared, mixes_);
}

Tensor TransformerLayer::operator()(Tensor hidden_states, const Tensor& frequencies) const {
  const nn::InModule scope(*this);
  const Tensor middle = attend(hidden_states, frequencies);
  CheckpointWithoutOutput norm(context(), RecomputeModule::layernorm);
  Tensor normalized = normalize(pre_mlp_layernorm_, middle, norm);
  WithBias result = feed_forward(normalized);
  if (pre_mlp_layernorm_) {
    norm.discard(result.output);
  }
  Tensor output = add(result, middle);
  eager::end_of_frame(normalized, result.output);
  return output;
}

WithBias TransformerLayer::feed_forward(const Tensor& normalized) const {
  if (mixes_ || !recomputes(context(), RecomputeModule::mlp)) {  // a mixture checkpoints itself
    return (*mlp_)(normalized);
  }
  const auto segment = [this](const std::vector<Tensor>& in) {  // of an MLP without biases
    return TensorList{(*mlp_)(in[0]).output};
  };
  return {nn::checkpoint_reentrant(runtime(), segment, {normalized})[0], {}};
}

Tensor TransformerLayer::normalize(const std::unique_ptr<Norm>& norm, const Tensor& states,
                                   CheckpointWithoutOutput& checkpoint) {
  if (!norm) {
    return states;
  }
  const auto segment = [&norm](const std::vector<Tensor>& in) {
    return TensorList{(*norm)(in[0])};
  };
  return checkpoint(segment, {states})[0];
}

Tensor TransformerLayer::attend(const Tensor& hidden_states, const Tensor& frequencies) const {
  CheckpointWithoutOutput norm(context(), RecomputeModule::layernorm);
  const Tensor normalized = normalize(input_layernorm_, hidden_states, norm);
  const WithBias attended = (*self_attention_)(normalized, frequencies);
  if (input_layernorm_) {
    norm.discard(attended.output);
  }
  return add(attended, hidden_states);
}

Tensor TransformerLayer::add(const WithBias& x, const Tensor& residual) const {
  return bias_dropout_add(x.output, x.bias, residual, context().training ? dropout_ : 0.0);
}

}  // namespace highwater::megatron
