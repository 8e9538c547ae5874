// The second half of a transformer layer: an MLP or a mixture of experts.
#pragma once

#include "workloads/megatron/layers/layers.hpp"

namespace highwater::megatron {

class FeedForward : public nn::Module {
 public:
  using Module::Module;

  /// Of normalized [s, b, h] states.
  virtual WithBias operator()(Tensor hidden_states) const = 0;
};

}  // namespace highwater::megatron
