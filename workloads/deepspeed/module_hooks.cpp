#include "workloads/deepspeed/module_hooks.hpp"

#include <algorithm>
#include <utility>

#include "workloads/plan/deepspeed_release.hpp"
#include "workloads/plan/training_plan.hpp"

namespace highwater::deepspeed {

using eager::Tensor;
using eager::TensorList;

namespace {

/// torch.autograd.Function whose forward is detach() and whose backward calls `on_gradient`.
template <class OnGradient>
void pass_through(Tensor& tensor, const char* name, OnGradient on_gradient) {
  eager::Runtime& runtime = tensor.runtime();
  const auto node = eager::begin_node(runtime, name, {tensor});
  tensor = eager::alias(tensor);
  eager::finish_node(node, tensor, [on_gradient](eager::Node&, TensorList& grads) {
    on_gradient();
    return std::exchange(grads, {});
  });
}

}  // namespace

// 0.19 counts each call anew (_post_backward_module_hook). In 0.16 the arguments of a recomputation
// add to those of the forward, so that a checkpointed module is not released in backward.
void ModuleHooks::before(std::span<Tensor> arguments) {
  gradients_remaining_ =
      is_recent_deepspeed(module_.context().plan.versions) ? 0 : gradients_remaining_;
  for (Tensor& argument : arguments) {
    if (argument.defined()) {
      gradients_remaining_ += argument.requires_grad() ? 1 : 0;
      pass_through(argument, "PostBackwardFunctionModuleBackward",
                   [this] { on_gradient_of_argument(); });
    }
  }
}

void ModuleHooks::after(std::span<const Tensor> /*arguments*/, std::span<Tensor> results) {
  is_differentiated_ = false;
  for (Tensor& result : results) {
    if (result.defined()) {
      is_differentiated_ |= result.requires_grad();
      ++backwards_to_come_;
      pass_through(result, "PreBackwardFunctionForModuleBackward",
                   [this] { on_gradient_of_result(); });
    }
  }
}

// A recomputation returns as well, but backward does not run through its results, nor through those
// that need no gradient.
void ModuleHooks::leave() {
  coordinator_.release(module_);
  const eager::Runtime& runtime = module_.runtime();
  if (is_differentiated_ && runtime.grad_enabled && runtime.thread == eager::Thread::main) {
    returned_.push_back(&module_);
  }
}

void ModuleHooks::on_gradient_of_result() {
  if (backwards_to_come_ == 0) {
    return;
  }
  --backwards_to_come_;
  coordinator_.leave_for(module_);
  const bool has_returned = std::ranges::find(returned_, &module_) != returned_.end();
  while (has_returned && returned_.back() != &module_) {
    coordinator_.pass_in_backward(*returned_.back());
    returned_.pop_back();
  }
  if (has_returned) {
    returned_.pop_back();
  }
  coordinator_.fetch_in_backward(module_);
}

void ModuleHooks::on_gradient_of_argument() {
  if (--gradients_remaining_ == 0) {
    coordinator_.release_in_backward(module_);
  }
}

}  // namespace highwater::deepspeed
