// torch/optim/rmsprop.py, neither centered nor with momentum. There is no fused kernel.
#include "workloads/eager/ops.hpp"
#include "workloads/optim/algorithms.hpp"

namespace highwater::optim {

namespace {

// _multi_tensor_rmsprop
void update_lists(const Update& update, const Slots& slots) {
  TensorVector grouped_grads;
  TensorVector avg;
  for (const auto& group : by_dtype(slots)) {
    grouped_grads.clear();
    if (update.decays) {
      grouped_grads = foreach_grads("_foreach_add", group);
    }
    avg = foreach_state("_foreach_sqrt", group, 0);
  }
  grouped_grads.clear();
  avg.clear();
}

// _single_tensor_rmsprop
void update_one_by_one(const Update& update, const Slots& slots) {
  Tensor grad;
  Tensor avg;
  for (const Slot* slot : slots) {
    grad.reset();
    if (update.decays) {
      grad = make_like("add", slot->param->grad);
    }
    avg = make_like("sqrt", slot->state[0]);
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
    update_one_by_one(update, slots);
  } else {
    update_lists(update, slots);
  }
}

}  // namespace highwater::optim
