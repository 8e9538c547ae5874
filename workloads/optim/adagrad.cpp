// torch/optim/adagrad.py. Its fused kernel exists only for the CPU.
#include "workloads/eager/ops.hpp"
#include "workloads/optim/algorithms.hpp"

namespace highwater::optim {

namespace {

// _foreach_mul of the gradients; it sums parts.
TensorVector numerators(const Slots& slots) {
  const TensorVector sums = summed_grads(slots);
  return foreach_grads("_foreach_mul", slots);
}

// _multi_tensor_adagrad: the numerators reuse the copies that weight decay made.
void adagrad_lists(const Update& update, const Slots& slots) {
  TensorVector std;
  TensorVector numerator;
  for (const auto& group : by_dtype(slots)) {
    TensorVector decayed;
    if (update.decays) {
      decayed = decayed_grads(group);
    }
    redistribute_grads(group, 2);  // _foreach_addcmul_
    std = foreach_state("_foreach_sqrt", group, 0);
    numerator = update.decays ? std::move(decayed) : numerators(group);
    redistribute_whole_grads(group);  // _foreach_addcdiv_
  }
  std.clear();
  numerator.clear();
}

// _single_tensor_adagrad
void adagrad_one_by_one(const Update& update, const Slots& slots) {
  Tensor grad;
  Tensor std;
  for (const Slot* slot : slots) {
    grad.reset();
    if (update.decays) {
      grad = make_like("add", slot->param->grad);
    }
    redistribute_grads(*slot, 2);  // addcmul_
    std = make_like("sqrt", slot->state[0]);
    redistribute_grads(*slot, 1);  // addcdiv_
  }
  eager::end_of_frame(grad, std);
}

}  // namespace

void adagrad_init(Slot& slot) {
  add_state(slot, make_like("full_like", slot.param));
}

void adagrad(const Update& update, const Slots& slots) {
  if (update.path == Path::loop) {
    adagrad_one_by_one(update, slots);
  } else {
    adagrad_lists(update, slots);
  }
}

}  // namespace highwater::optim
