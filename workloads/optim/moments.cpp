// NAdam, RAdam, Adamax and Adadelta (torch/optim/nadam.py, radam.py, adamax.py, adadelta.py of
// PyTorch 2.6 to 2.15): two moments each, step counters and NAdam's product on the host.
#include "workloads/eager/ops.hpp"
#include "workloads/optim/algorithms.hpp"
#include "workloads/optim/expressions.hpp"

namespace highwater::optim {

namespace {

constexpr std::size_t kFirstMoment = 0;
constexpr std::size_t kSecondMoment = 1;

void init_moments(const Slots& slots) {
  for (Slot* slot : slots) {
    if (slot->state.empty()) {
      add_state(*slot, make_like("zeros_like", slot->param));
      add_state(*slot, make_like("zeros_like", slot->param));
    }
  }
}

// grad = grad.add(param, alpha=weight_decay)
Tensor decayed(const Update& update, const Slot& slot) {
  return update.decays ? make_like("add", slot.param->grad) : Tensor{};
}

// _multi_tensor_nadam
void nadam_lists(const Update& update, const Slots& slots) {
  TensorVector grouped_grads;
  TensorVector exp_avg_sq_sqrt;
  for (const auto& group : by_dtype(slots)) {
    grouped_grads.clear();
    if (update.decays) {
      grouped_grads = decayed_grads(group);
    }
    exp_avg_sq_sqrt = foreach_state("_foreach_sqrt", group, kSecondMoment);
  }
  grouped_grads.clear();
}

// _single_tensor_nadam: denom = exp_avg_sq.div(bias_correction2).sqrt()
void nadam_one_by_one(const Update& update, const Slots& slots) {
  Tensor grad;
  Tensor denom;
  for (const Slot* slot : slots) {
    grad = decayed(update, *slot);
    denom = unary("sqrt", unary("div", slot->state[kSecondMoment]));
  }
  eager::end_of_frame(grad, denom);
}

// _multi_tensor_radam, which deletes decayed gradients before it makes its buffer.
void radam_lists(const Update& update, const Slots& slots) {
  TensorVector buffer;
  for (const auto& group : by_dtype(slots)) {
    if (update.decays) {
      const TensorVector grouped_grads = decayed_grads(group);
    }
    buffer = foreach_state("_foreach_sqrt", group, kSecondMoment);
  }
}

// _compute_adaptive_lr: a number over a tensor is its reciprocal times the number.
Tensor adaptive_lr(const Slot& slot) {
  const Tensor exp_avg_sq_sqrt = make_like("sqrt", slot.state[kSecondMoment]);
  return unary("mul", make_like("reciprocal", exp_avg_sq_sqrt));
}

// _single_tensor_radam. With the default beta2 of 0.999, rho is above 5 from the sixth step on.
void radam_one_by_one(const Update& update, const Slots& slots) {
  constexpr int kFirstRectifiedStep = 6;
  Tensor grad;
  Tensor bias_corrected_exp_avg;
  for (const Slot* slot : slots) {
    grad = decayed(update, *slot);
    bias_corrected_exp_avg = make_like("div", slot->state[kFirstMoment]);
    Tensor scaled = make_like("mul", bias_corrected_exp_avg);
    if (update.step >= kFirstRectifiedStep) {
      Tensor rate = adaptive_lr(*slot);
      scaled = unary("mul", binary("mul", std::move(scaled), std::move(rate)));
    }
  }
  eager::end_of_frame(grad, bias_corrected_exp_avg);
}

// _multi_tensor_adamax: absolute values, in place where weight decay has made a copy.
void adamax_lists(const Update& update, const Slots& slots) {
  TensorVector grouped_grads;
  for (const auto& group : by_dtype(slots)) {
    grouped_grads.clear();
    grouped_grads = update.decays ? decayed_grads(group) : foreach_grads("_foreach_abs", group);
  }
}

// _single_tensor_adamax: grad.abs().add_(eps)
void adamax_one_by_one(const Update& update, const Slots& slots) {
  Tensor grad;
  for (const Slot* slot : slots) {
    grad = decayed(update, *slot);
    make_like("abs", slot->param->grad);
  }
}

// _multi_tensor_adadelta
void adadelta_lists(const Update& update, const Slots& slots) {
  TensorVector device_grads;
  TensorVector std;
  TensorVector deltas;
  for (const auto& group : by_dtype(slots)) {
    device_grads.clear();
    if (update.decays) {
      device_grads = decayed_grads(group);
    }
    std = foreach_state("_foreach_add", group, kFirstMoment);
    deltas = foreach_state("_foreach_add", group, kSecondMoment);
  }
  device_grads.clear();
  std.clear();
}

// _single_tensor_adadelta
void adadelta_one_by_one(const Update& update, const Slots& slots) {
  Tensor grad;
  Tensor std;
  Tensor delta;
  for (const Slot* slot : slots) {
    grad = decayed(update, *slot);
    std = make_like("add", slot->state[kFirstMoment]);
    delta = make_like("add", slot->state[kSecondMoment]);
  }
  eager::end_of_frame(grad, std, delta);
}

}  // namespace

void nadam(const Update& update, const Slots& slots) {
  init_moments(slots);
  update.path == Path::loop ? nadam_one_by_one(update, slots) : nadam_lists(update, slots);
}

void radam(const Update& update, const Slots& slots) {
  init_moments(slots);
  update.path == Path::loop ? radam_one_by_one(update, slots) : radam_lists(update, slots);
}

void adamax(const Update& update, const Slots& slots) {
  init_moments(slots);
  update.path == Path::loop ? adamax_one_by_one(update, slots) : adamax_lists(update, slots);
}

void adadelta(const Update& update, const Slots& slots) {
  init_moments(slots);
  update.path == Path::loop ? adadelta_one_by_one(update, slots) : adadelta_lists(update, slots);
}

}  // namespace highwater::optim
