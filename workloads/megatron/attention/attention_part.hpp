// The first half of a transformer layer.
#pragma once

#include "workloads/megatron/layers/layers.hpp"

namespace highwater::megatron {

class AttentionPart : public nn::Module {
 public:
  using Module::Module;

  /// Of normalized [s, b, h] states; `frequencies` are the rotary embedding, undefined without one.
  /// The bias is not yet added to the result (skip_bias_add).
  virtual WithBias operator()(Tensor hidden_states, const Tensor& frequencies) const = 0;
};

}  // namespace highwater::megatron
