// torch/optim/adagrad.py. Its fused kernel exists for the CPU only.
#include "workloads/eager/ops.hpp"
#include "workloads/optim/algorithms.hpp"

namespace highwater::optim {

namespace {

// _multi_tensor_adagrad: the numerators reuse the copies that weight decay made.
void update_lists(const Update& update, const Slots& slots) {
  TensorVector std;
  TensorVector numerator;
  for (const auto& group : by_dtype(slots)) {
    TensorVector decayed;
    if (update.decays) {
      decayed = foreach_grads("_foreach_add", group);
    }
    std = foreach_state("_foreach_sqrt", group, 0);
    numerator = update.decays ? std::move(decayed) : foreach_grads("_foreach_mul", group);
  }
  std.clear();
  numerator.clear();
}

// _single_tensor_adagrad
void update_one_by_one(const Update& update, const Slots& slots) {
  Tensor grad;
  Tensor std;
  for (const Slot* slot : slots) {
    grad.reset();
    if (update.decays) {
      grad = make_like("add", slot->param->grad);
    }
    std = make_like("sqrt", slot->state[0]);
  }
  eager::end_of_frame(grad, std);
}

}  // namespace

void adagrad_init(Slot& slot) {
  add_state(slot, make_like("full_like", slot.param));
}

void adagrad(const Update& update, const Slots& slots) {
  if (update.path == Path::loop) {
    update_one_by_one(update, slots);
  } else {
    update_lists(update, slots);
  }
}

}  // namespace highwater::optim
