// Operators that write into their first operand: no result block, but nodes and saved tensors like
// their ordinary forms. An operand whose old value is needed by backward is cloned first
// (tools/autograd/gen_variable_type.py of PyTorch 2.6: original_self).
#include "workloads/eager/formulas.hpp"
#include "workloads/eager/ops.hpp"
#include "workloads/eager/runtime.hpp"

namespace highwater::eager {

namespace {

// rebase_history: the tensor is now the result of `node`.
Tensor rebase(const Ref<Node>& node, const Tensor& self, BackwardFunction backward) {
  if (node) {
    self->requires_grad = false;
    self->output_nr = 0;
  }
  finish_node(node, self, std::move(backward));
  return self;
}

// A copy that backward reads instead of the overwritten tensor.
Tensor clone_unrecorded(const Tensor& self) {
  NoGrad no_grad(self.runtime());
  return clone(self);
}

}  // namespace

Tensor add_(const Tensor& self, const Tensor& other) {
  const auto node = begin_node(self.runtime(), "AddBackward0", {self, other});
  return rebase(node, self, add_backward(self.dtype(), other.dtype()));
}

Tensor div_(const Tensor& self, const Tensor& other) {
  const auto node = begin_node(self.runtime(), "DivBackward0", {self, other});
  if (node) {
    node->save(other);
    node->save(other.requires_grad() ? clone_unrecorded(self) : Tensor{});
  }
  return rebase(node, self, div_backward(self.dtype(), other.dtype()));
}

}  // namespace highwater::eager
