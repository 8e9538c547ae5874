// Hooks around a module's forward: register_forward_pre_hook and register_forward_hook of
// torch.nn.Module (torch/nn/modules/module.py, PyTorch 2.6: _call_impl).
//
// Sharding gathers parameters before and releases them after; tensor parallelism changes the layout
// of arguments and results.
#pragma once

#include <span>

#include "workloads/eager/tensor.hpp"

namespace highwater::nn {

class ForwardHooks {
 public:
  ForwardHooks() = default;
  ForwardHooks(const ForwardHooks&) = delete;
  ForwardHooks& operator=(const ForwardHooks&) = delete;
  virtual ~ForwardHooks() = default;

  /// Around a call, outside of before() and after(), for hooks that use no tensors. Modules without
  /// their own parameters have only these.
  virtual void enter() {}

  virtual void leave() {}

  /// Before forward; may replace the positional arguments.
  virtual void before(std::span<eager::Tensor> /*arguments*/) {}

  /// In a module of several operators, right before the one that reads the module's parameters.
  virtual void before_parameters() {}

  /// Forward reads a parameter of another module.
  virtual void reads(const eager::Tensor& /*parameter*/) {}

  /// After forward; may replace the results.
  virtual void after(std::span<const eager::Tensor> /*arguments*/,
                     std::span<eager::Tensor> /*results*/) {}
};

}  // namespace highwater::nn
