// torch/optim/rmsprop.py, neither centered nor with momentum. There is no fused kernel.
#include "workloads/eager/ops.hpp"
#include "workloads/optim/algorithms.hpp"

namespace highwater::optim {

namespace {

// _multi_tensor_rmsprop
void rmsprop_lists(const Update& update, const Slots& slots) {
  TensorVector grouped_grads;
  TensorVector avg;
  for (const auto& group : by_dtype(slots)) {
    grouped_grads.clear();
    if (update.decays) {
      grouped_grads = decayed_grads(group);
    }
    redistribute_grads(group, 2);  // _foreach_addcmul_
    avg = foreach_state("_foreach_sqrt", group, 0);
    redistribute_grads(group, 1);  // _foreach_addcdiv_
  }
  grouped_grads.clear();
  avg.clear();
}

// _single_tensor_rmsprop
void rmsprop_one_by_one(const Update& update, const Slots& slots) {
  Tensor grad;
  Tensor avg;
  for (const Slot* slot : slots) {
    grad.reset();
    if (update.decays) {
      grad = make_like("add", slot->param->grad);
    }
    redistribute_grads(*slot, 2);  // addcmul_
    avg = make_like("sqrt", slot->state[0]);
    redistribute_grads(*slot, 1);  // addcdiv_
  }
  eager::end_of_frame(grad, avg);
}

}  // namespace

void rmsprop(const Update& update, const Slots& slots) {
  for (Slot* slot : slots) {
    if (slot->state.empty()) {
      add_state(*slot, make_like("zeros_like", slot->param));
    }
  }
  if (update.path == Path::loop) {
    rmsprop_one_by_one(update, slots);
  } else {
    rmsprop_lists(update, slots);
  }
}

}  // namespace highwater::optim
