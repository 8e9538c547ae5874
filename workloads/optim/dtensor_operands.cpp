// Gradients that are DTensors in another layout than their parameters: each operator that uses both
// converts them to the layout of the tensors it writes to and drops the result
// (torch/distributed/tensor/_dispatch.py: redistribute_local_args, PyTorch 2.6).
#include "workloads/eager/dtensor_spec.hpp"
#include "workloads/eager/ops.hpp"
#include "workloads/optim/algorithms.hpp"

namespace highwater::optim {

namespace {

const eager::DTensorSpec* moving_spec(const Slot& slot) {
  const eager::DTensorSpec* spec = slot.param->spec;
  return spec != nullptr && spec->gradient_moves() ? spec : nullptr;
}

}  // namespace

void redistribute_grads(const Slots& slots, int uses) {
  TensorVector operands;
  for (int use = 0; use < uses; ++use) {
    for (const Slot* slot : slots) {
      if (const auto* spec = moving_spec(*slot)) {
        operands.push_back(spec->redistribute(slot->param->grad));
      }
    }
  }
}

void redistribute_grads(const Slot& slot, int uses) {
  TensorVector operands;
  for (int use = 0; use < uses; ++use) {
    if (const auto* spec = moving_spec(slot)) {
      operands.push_back(spec->redistribute(slot.param->grad));
    }
  }
}

void redistribute_whole_grads(const Slots& slots) {
  TensorVector operands;
  for (const Slot* slot : slots) {
    const auto* spec = moving_spec(*slot);
    if (spec != nullptr && spec->grad_placement == eager::Placement::replicate) {
      operands.push_back(spec->redistribute(slot->param->grad));
    }
  }
}

TensorVector summed_grads(const Slots& slots) {
  TensorVector sums;
  for (const Slot* slot : slots) {
    const auto* spec = slot->param->spec;
    if (spec != nullptr && spec->grad_placement == eager::Placement::partial) {
      sums.push_back(spec->all_reduce(slot->param->grad));
    }
  }
  return sums;
}

TensorVector decayed_grads(const Slots& slots) {
  TensorVector operands;
  for (const Slot* slot : slots) {
    if (const auto* spec = moving_spec(*slot)) {
      operands.push_back(spec->like_gradient(slot->param));
    }
  }
  return foreach_grads("_foreach_add", slots);
}

}  // namespace highwater::optim
