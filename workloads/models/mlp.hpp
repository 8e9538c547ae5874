// The feed-forward part of the GPT families: widen, activate, narrow, drop out.
#pragma once

#include "workloads/nn/layers.hpp"

namespace highwater::models {

struct MlpConfig {
  std::int64_t width = 0;
  std::int64_t inner = 0;
  Activation activation = Activation::gelu_new;
  double dropout = 0.0;
  const char* widen = "c_fc";
  const char* narrow = "c_proj";
};

/// `Projection` is nn::Linear or nn::Conv1D.
template <class Projection>
class Mlp : public nn::Module {
 public:
  Mlp(nn::Module* parent, const MlpConfig& config)
      : Module(parent, "mlp"),
        activation_(config.activation),
        widen_(this, config.widen, config.width, config.inner),
        narrow_(this, config.narrow, config.inner, config.width),
        dropout_(this, "dropout", config.dropout) {}

  nn::Tensor operator()(nn::Tensor hidden_states) const {
    const nn::InModule scope(*this);
    nn::Tensor states = widen_(hidden_states);
    states = nn::activate(context(), activation_, states);
    states = narrow_(states);
    return dropout_(states);
  }

 private:
  Activation activation_;
  Projection widen_;
  Projection narrow_;
  nn::Dropout dropout_;
};

}  // namespace highwater::models
