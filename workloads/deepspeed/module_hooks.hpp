// The hooks that ZeRO-3 puts around every module: fetch before and release after it, in forward and
// backward.
//
// Source: DeepSpeed 0.16.4, runtime/zero/parameter_offload.py (_register_deepspeed_module).
// Backward is reached through two identity functions in the graph: one after the module's results,
// which fetches, and one before its arguments, which releases once all of them have their
// gradients. A module whose arguments need none (an embedding) is thus not released before the
// step.
//
// Here only modules that run their forward through Module::call have the identity functions. The
// others own no parameters, but each fetch is also an occasion to prefetch: in backward theirs
// follow once the next earlier module is reached, in the reverse order of their returns.
#pragma once

#include <functional>

#include "workloads/deepspeed/parameter_coordinator.hpp"

namespace highwater::deepspeed {

class ModuleHooks : public nn::ForwardHooks {
 public:
  /// Modules not yet reached in backward, in the order in which they returned in forward.
  using Returned = std::vector<const nn::Module*>;

  /// What to do when a module's forward reads a parameter of another one.
  using Reads = std::function<void(const nn::Module&, const eager::Tensor& parameter)>;

  ModuleHooks(ParameterCoordinator& coordinator, Returned& returned, const nn::Module& module,
              Reads reads)
      : coordinator_(coordinator), returned_(returned), module_(module), reads_(std::move(reads)) {}

  void enter() override { coordinator_.fetch(module_); }

  void leave() override;

  void reads(const eager::Tensor& parameter) override { reads_(module_, parameter); }

  void before(std::span<eager::Tensor> arguments) override;
  void after(std::span<const eager::Tensor> arguments, std::span<eager::Tensor> results) override;

 private:
  void on_gradient_of_result();
  void on_gradient_of_argument();

  ParameterCoordinator& coordinator_;
  Returned& returned_;
  const nn::Module& module_;
  Reads reads_;
  bool is_differentiated_ =
      true;                      ///< a result of the last call needs a gradient, as far as is known
  int backwards_to_come_ = 0;    ///< applied_pre_backward_ref_cnt
  int gradients_remaining_ = 0;  ///< ds_grads_remaining
};

}  // namespace highwater::deepspeed
