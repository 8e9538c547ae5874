// The feed-forward parts of LLaMA and its relatives.
#include <utility>

#include "workloads/models/decoders/decoder.hpp"
#include "workloads/models/decoders/family_dropout.hpp"
#include "workloads/models/decoders/xielu.hpp"
#include "workloads/models/experts/experts.hpp"
#include "workloads/models/norm.hpp"
#include "workloads/nn/layers.hpp"

namespace highwater::models {

namespace {

/// LlamaMLP.
class GatedMlp : public FeedForward {
 public:
  GatedMlp(Module* parent, std::string name, const LlamaConfig& config, std::int64_t width)
      : FeedForward(parent, std::move(name)),
        dropout_(output_dropout(config)),
        is_wide_(config.code->mlp.kind == MlpKind::wide_gated),
        gate_proj_(this, "gate_proj", config.hidden_size, width, nn::bias_if(config.mlp_bias)),
        up_proj_(this, "up_proj", config.hidden_size, width, nn::bias_if(config.mlp_bias)),
        down_proj_(this, "down_proj", width, config.hidden_size, nn::bias_if(config.mlp_bias)),
        act_fn_(this, "act_fn", config.hidden_act) {
    if (config.code->block.has_sub_norms) {
      sub_norm_ = std::make_unique<Norm>(this, "ffn_sub_norm", width, config.code->block.norm);
    }
  }

  Tensor operator()(Tensor x) const override {
    const nn::InModule scope(*this);
    if (is_wide_) {
      return wide(x);
    }
    return dropout_(context(), down_proj_(product(x)));
  }

 private:
  // BeamMLP: activation and product in fp32
  Tensor wide(const Tensor& x) const {
    Tensor gate = gate_proj_(x);
    Tensor up = up_proj_(x);
    Tensor activated = wide_product(act_fn_, gate, up);
    Tensor result = down_proj_(activated);
    eager::end_of_frame(gate, up, activated);
    return result;
  }

  Tensor product(const Tensor& x) const {
    Tensor gate = gate_proj_(x);
    Tensor active = act_fn_(gate);
    gate.reset();
    Tensor up = up_proj_(x);
    Tensor result = eager::mul(active, up);
    eager::end_of_frame(active, up);
    return sub_norm_ ? (*sub_norm_)(std::move(result)) : result;
  }

  FamilyDropout dropout_;
  bool is_wide_;
  nn::Linear gate_proj_;
  nn::Linear up_proj_;
  nn::Linear down_proj_;
  nn::ActivationFunction act_fn_;
  std::unique_ptr<Norm> sub_norm_;  ///< before down_proj
};

/// Phi3MLP, GlmMLP: up_states and gate are halves of one product.
class FusedGatedMlp : public FeedForward {
 public:
  FusedGatedMlp(Module* parent, std::string name, const LlamaConfig& config)
      : FeedForward(parent, std::move(name)),
        gate_up_proj_(this, "gate_up_proj", config.hidden_size, 2 * config.intermediate_size,
                      nn::Bias::none),
        down_proj_(this, "down_proj", config.intermediate_size, config.hidden_size, nn::Bias::none),
        activation_fn_(this, "activation_fn", config.hidden_act) {}

  Tensor operator()(Tensor hidden_states) const override {
    const nn::InModule scope(*this);
    Tensor up_states = gate_up_proj_(hidden_states);
    auto halves = eager::chunk(up_states, 2, -1);
    Tensor gate = std::move(halves[0]);
    up_states = std::move(halves[1]);
    {
      Tensor active = activation_fn_(gate);
      Tensor product = eager::mul(up_states, active);
      active.reset();
      up_states = std::move(product);
    }
    Tensor result = down_proj_(up_states);
    eager::end_of_frame(hidden_states, up_states, gate);
    return result;
  }

 private:
  nn::Linear gate_up_proj_;
  nn::Linear down_proj_;
  nn::ActivationFunction activation_fn_;
};

/// ArceeMLP, PhiMLP, GPTNeoXMLP, Starcoder2MLP: widen, activate, narrow.
class PlainMlp : public FeedForward {
 public:
  PlainMlp(Module* parent, std::string name, const LlamaConfig& config)
      : FeedForward(parent, std::move(name)),
        dropout_(output_dropout(config)),
        widen_(this, config.code->mlp.widen_name, config.hidden_size, config.intermediate_size,
               nn::bias_if(config.mlp_bias)),
        narrow_(this, config.code->mlp.narrow_name, config.intermediate_size, config.hidden_size,
                nn::bias_if(config.mlp_bias)) {
    if (config.hidden_act == Activation::xielu) {
      xielu_ = std::make_unique<Xielu>(this);
    } else {
      act_ = std::make_unique<nn::ActivationFunction>(this, "act_fn", config.hidden_act);
    }
  }

  Tensor operator()(Tensor hidden_states) const override {
    const nn::InModule scope(*this);
    Tensor states = widen_(hidden_states);
    states = act_ ? (*act_)(states) : (*xielu_)(states);
    states = narrow_(states);
    return dropout_(context(), states);
  }

 private:
  FamilyDropout dropout_;
  nn::Linear widen_;
  nn::Linear narrow_;
  std::unique_ptr<nn::ActivationFunction> act_;
  std::unique_ptr<Xielu> xielu_;  ///< instead, where the activation has parameters
};

}  // namespace

std::unique_ptr<FeedForward> make_gated_mlp(Module* parent, std::string name,
                                            const LlamaConfig& config,
                                            std::int64_t intermediate_size) {
  return std::make_unique<GatedMlp>(parent, std::move(name), config, intermediate_size);
}

std::unique_ptr<FeedForward> make_mlp(Module* parent, const LlamaConfig& config) {
  switch (config.code->mlp.kind) {
    case MlpKind::fused_gated:
      return std::make_unique<FusedGatedMlp>(parent, "mlp", config);
    case MlpKind::plain:
      return std::make_unique<PlainMlp>(parent, "mlp", config);
    case MlpKind::gated:
    case MlpKind::wide_gated:
      break;
  }
  return make_gated_mlp(parent, "mlp", config, dense_width(config));
}

}  // namespace highwater::models
