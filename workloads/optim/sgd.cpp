// torch/optim/sgd.py. The momentum buffer of a parameter is created at its first step: a copy of
// the gradient (after weight decay), or left uninitialized for the fused kernel to fill.
#include <algorithm>

#include "workloads/optim/algorithms.hpp"

namespace highwater::optim {

namespace {

bool has_momentum(const Update& update) {
  return update.kind == OptimizerKind::sgd_momentum;
}

// _multi_tensor_sgd. With momentum the gradients' variable is rebound to the buffers, which
// releases the copies that weight decay made.
void sgd_lists(const Update& update, const Slots& slots) {
  TensorVector device_grads;
  for (const auto& group : by_dtype(slots)) {
    device_grads.clear();
    if (update.decays) {
      device_grads = decayed_grads(group);
    }
    if (has_momentum(update)) {
      if (!group.front()->state.empty()) {
        summed_grads(group);  // _foreach_mul_ of the buffers, which are laid out as gradients
      }
      for (Slot* slot : group) {
        if (slot->state.empty()) {
          add_state(*slot, make_like("clone", slot->param->grad));
        }
      }
      device_grads.clear();
    }
    redistribute_grads(group, 1);  // _foreach_add_ to the parameters
  }
}

// _single_tensor_sgd
void sgd_one_by_one(const Update& update, const Slots& slots) {
  Tensor grad;
  for (Slot* slot : slots) {
    grad.reset();
    if (update.decays) {
      grad = make_like("add", slot->param->grad);
    }
    if (has_momentum(update)) {
      if (slot->state.empty()) {
        add_state(*slot, make_like("clone", slot->param->grad));
      } else {
        summed_grads({slot});  // mul_ of the buffer, which is laid out as the gradient
      }
      grad.reset();
    }
    redistribute_grads(*slot, 1);  // add_ to the parameter
  }
}

// _fused_sgd
void init_fused(const Slots& slots) {
  if (std::ranges::any_of(slots, [](const Slot* slot) { return !slot->state.empty(); })) {
    return;
  }
  for (Slot* slot : slots) {
    add_state(*slot, make_like("empty_like", slot->param->grad));
  }
}

}  // namespace

void sgd(const Update& update, const Slots& slots) {
  switch (update.path) {
    case Path::foreach:
      return sgd_lists(update, slots);
    case Path::loop:
      return sgd_one_by_one(update, slots);
    case Path::fused:
      return has_momentum(update) ? init_fused(slots) : void();
    case Path::deepspeed:
      return;  // FusedAdam only
  }
}

}  // namespace highwater::optim
