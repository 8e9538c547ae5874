// Optimizers that loop over parameters, or over lists of them, with elementwise operations only.
#include "workloads/eager/ops.hpp"
#include "workloads/optim/algorithms.hpp"
#include "workloads/optim/expressions.hpp"

namespace highwater::optim {

// lion_pytorch/lion_pytorch.py (0.2.5): update_fn
void lion(const Update& /*update*/, const Slots& slots) {
  for (Slot* slot : slots) {
    if (slot->state.empty()) {
      add_state(*slot, make_like("zeros_like", slot->param));
    }
    binary("add", unary("clone", slot->state[0]), slot->param->grad);
  }
}

// optimi/stableadamw.py (torch-optimi 0.3.3): Triton's kernels, which it takes on a GPU unless it
// is told otherwise, work in place. Kahan's sum is for low precision; else there is one byte in its
// place.
void stable_adamw(const Update& /*update*/, const Slots& slots) {
  for (Slot* slot : slots) {
    if (!slot->state.empty()) {
      continue;
    }
    const Tensor& param = slot->param;
    add_state(*slot, make_like("zeros_like", param));
    add_state(*slot, make_like("zeros_like", param));
    add_state(*slot, zeros(param, {}, param.dtype()));
    add_state(*slot, is_low_precision(param.dtype()) ? make_like("zeros_like", param)
                                                     : zeros(param, {1}, DType::uint8));
    add_state(*slot, zeros(param, {1}, DType::fp32));
  }
}

namespace {

constexpr int kDenominatorLists = 64;  // MultiTensorApply.cuh: depth_to_max_tensors

void init_schedule_free(const Slots& slots, bool has_moment) {
  for (Slot* slot : slots) {
    if (slot->state.empty()) {
      add_state(*slot, make_like("clone", slot->param));
      if (has_moment) {
        add_state(*slot, make_like("zeros_like", slot->param));
      }
    }
  }
}

}  // namespace

// schedulefree/adamw_schedulefree.py (1.4.1): the denominators are one more copy of the parameters,
// which the frame of step() keeps from one group to the next.
void schedule_free_adamw(const Update& update, const Slots& slots) {
  init_schedule_free(slots, true);
  if (!slots.empty()) {
    *update.kept_list = foreach_state("_foreach_div", slots, 1);
    launch_foreach(slots, kDenominatorLists);
  }
}

// schedulefree/radam_schedulefree.py: plain SGD, then none, until the average is long enough. With
// the default beta2 of 0.999, rho is above 4 from the sixth step on.
void schedule_free_radam(const Update& update, const Slots& slots) {
  constexpr int kFirstRectifiedStep = 6;
  if (update.step >= kFirstRectifiedStep) {
    return schedule_free_adamw(update, slots);
  }
  init_schedule_free(slots, true);
}

// schedulefree/sgd_schedulefree.py
void schedule_free_sgd(const Update& /*update*/, const Slots& slots) {
  init_schedule_free(slots, false);
}

}  // namespace highwater::optim
