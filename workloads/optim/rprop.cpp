// torch/optim/rprop.py (PyTorch 2.6 to 2.15): previous gradients and step sizes, and masks of the
// signs of their products.
#include "workloads/eager/ops.hpp"
#include "workloads/optim/algorithms.hpp"
#include "workloads/optim/expressions.hpp"

namespace highwater::optim {

namespace {

void init_rprop(Slot& slot) {
  add_state(slot, make_like("zeros_like", slot.param));
  add_state(slot, make_like("full_like", slot.param));
}

Tensor sign_mask(const char* op, const Tensor& sign) {
  return make_like(op, sign, DType::boolean);
}

// sign[sign.gt(0)] = etaplus, and so on: three masks, one after the other.
void set_factors(const Tensor& sign) {
  for (const char* op : {"gt", "lt", "eq"}) {
    sign_mask(op, sign);
  }
}

// torch.where(sign.eq(etaminus), 0, grad): the number becomes a tensor.
void without_turned(const Tensor& sign, const Tensor& grad) {
  Tensor condition = sign_mask("eq", sign);
  Tensor zero = zeros(grad, {}, grad.dtype());
  const Tensor result = make_like("where", grad);
  eager::end_of_frame(zero, condition);
}

// _multi_tensor_rprop; `sign` is the variable of a loop, which outlives `del signs`.
void rprop_lists(const Slots& slots) {
  Tensor sign;
  TensorVector grad_signs;
  for (const auto& group : by_dtype(slots)) {
    TensorVector signs = foreach_grads("_foreach_mul", group);
    for (const Tensor& each : signs) {
      sign = each;
      set_factors(sign);
    }
    for (std::size_t i = 0; i < group.size(); ++i) {
      without_turned(signs[i], group[i]->state[0]);
    }
    signs.clear();
    TensorVector made;
    for (const Slot* slot : group) {
      made.push_back(make_like("sign", slot->state[0]));
    }
    grad_signs = std::move(made);
  }
  sign.reset();
}

// _single_tensor_rprop
void rprop_one_by_one(const Slots& slots) {
  Tensor grad;
  Tensor sign;
  for (const Slot* slot : slots) {
    grad.reset();
    sign = unary("sign", make_like("mul", slot->param->grad));
    set_factors(sign);
    grad = make_like("clone", slot->param->grad);
    sign_mask("eq", sign);
    make_like("sign", grad);
  }
  eager::end_of_frame(grad, sign);
}

}  // namespace

void rprop(const Update& update, const Slots& slots) {
  for (Slot* slot : slots) {
    if (slot->state.empty()) {
      init_rprop(*slot);
    }
  }
  update.path == Path::loop ? rprop_one_by_one(slots) : rprop_lists(slots);
}

}  // namespace highwater::optim
