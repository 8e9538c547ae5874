// torch/optim/asgd.py (PyTorch 2.6 to 2.15). Its counters are on the device: step, eta, mu.
#include "workloads/eager/ops.hpp"
#include "workloads/optim/algorithms.hpp"
#include "workloads/optim/expressions.hpp"

namespace highwater::optim {

namespace {

Tensor asgd_scalar(const Slot& slot) {
  return zeros(slot.param, {}, DType::fp32);
}

// _init_group: eta is as_tensor(lr).clone().
void init_asgd(Slot& slot) {
  add_state(slot, asgd_scalar(slot));
  add_state(slot, unary("clone", asgd_scalar(slot)));
  add_state(slot, asgd_scalar(slot));
  add_state(slot, make_like("zeros_like", slot.param));
}

constexpr std::size_t kStep = 0;

// lr / ((1 + lambd * lr * step) ** alpha): a number over a tensor is its reciprocal times the
// number.
Tensor new_eta(const Slot& slot) {
  const Tensor power = unary("pow", unary("add", make_like("mul", slot.state[kStep])));
  return unary("mul", make_like("reciprocal", power));
}

// _multi_tensor_asgd. What is added to the parameters, and then their distance from the averages,
// are lists that are deleted.
void asgd_lists(const Slots& slots) {
  TensorVector new_mus;
  TensorVector new_etas;
  for (const auto& group : by_dtype(slots)) {
    foreach_grads("_foreach_add", group);
    foreach_grads("_foreach_sub", group);
    TensorVector etas;
    for (const Slot* slot : group) {
      etas.push_back(new_eta(*slot));
    }
    new_etas = std::move(etas);
    TensorVector mus;
    for (const Slot* slot : group) {
      mus.push_back(asgd_scalar(*slot));
    }
    new_mus = std::move(mus);
  }
  new_mus.clear();
}

// _single_tensor_asgd, which averages only from step t0 (1,000,000) on; before, it copies.
void asgd_one_by_one(const Update& update, const Slots& slots) {
  Tensor grad;
  for (const Slot* slot : slots) {
    grad = update.decays ? make_like("add", slot->param->grad) : Tensor{};
  }
}

}  // namespace

void asgd(const Update& update, const Slots& slots) {
  for (Slot* slot : slots) {
    if (slot->state.empty()) {
      init_asgd(*slot);
    }
  }
  update.path == Path::loop ? asgd_one_by_one(update, slots) : asgd_lists(slots);
}

}  // namespace highwater::optim
