// torch/optim/adam.py and adamw.py: they differ in weight decay, which Adam adds to a copy of the
// gradients and AdamW applies to the parameters in place.
#include "workloads/eager/ops.hpp"
#include "workloads/optim/algorithms.hpp"

namespace highwater::optim {

namespace {

// MultiTensorApply.cuh: depth_to_max_tensors and depth_to_max_tensors_scalarlist.
constexpr int kOneList = 110;
constexpr int kTwoLists = 64;
constexpr int kThreeLists = 48;
constexpr int kOneListOfScalars = 96;

constexpr std::size_t kDenominatorSource = 1;  // exp_avg_sq, when the step is on the host

// _init_group. The step counter is on the parameter's device only for the fused kernel.
void init_state(const Update& update, Slot& slot) {
  if (update.path == Path::fused) {
    eager::OpScope scope(*update.runtime, "zeros");
    add_state(slot, eager::empty_on(*update.runtime, slot.param.place(), {}, DType::fp32));
  }
  for (int moment = 0; moment < 2; ++moment) {
    add_state(slot, make_like("zeros_like", slot.param));
  }
}

// _multi_tensor_adam(w): the list of denominators is one more copy of the parameters; it outlives
// its dtype's turn and is released when the next one is ready, or at the end.
void adam_lists(const Slots& slots, bool adds_decay, bool multiplies_decay) {
  TensorVector exp_avg_sq_sqrt;
  for (const auto& group : by_dtype(slots)) {
    {
      TensorVector device_grads;  // deleted before the denominators are made
      if (adds_decay) {
        device_grads = decayed_grads(group);
      }
      if (multiplies_decay) {
        launch_foreach(group, kOneList);
      }
      redistribute_grads(group, 1);
      launch_foreach(group, kTwoLists);  // exp_avgs: lerp_
      launch_foreach(group, kOneList);   // exp_avg_sqs: mul_
      redistribute_grads(group, 2);
      launch_foreach(group, kThreeLists);  // addcmul_
    }
    exp_avg_sq_sqrt = foreach_state("_foreach_sqrt", group, kDenominatorSource);
    launch_foreach(group, kOneListOfScalars);  // div_
    launch_foreach(group, kOneList);           // add_
    launch_foreach(group, kThreeLists);        // params: addcdiv_
  }
}

// _single_tensor_adam(w): denom = (exp_avg_sq.sqrt() / bias_correction2_sqrt).add_(eps)
void adam_one_by_one(const Slots& slots, bool adds_decay) {
  Tensor grad;
  Tensor denom;
  for (const Slot* slot : slots) {
    grad.reset();
    if (adds_decay) {
      grad = make_like("add", slot->param->grad);
    }
    redistribute_grads(*slot, 1);  // lerp_
    redistribute_grads(*slot, 2);  // addcmul_
    Tensor root = make_like("sqrt", slot->state[kDenominatorSource]);
    Tensor ratio = make_like("div", root);
    root.reset();
    denom = std::move(ratio);
  }
  eager::end_of_frame(grad, denom);
}

void step(const Update& update, const Slots& slots, bool adds_decay, bool multiplies_decay) {
  for (Slot* slot : slots) {
    if (slot->state.empty()) {
      init_state(update, *slot);
    }
  }
  if (update.path == Path::foreach) {
    adam_lists(slots, adds_decay, multiplies_decay);
  } else if (update.path == Path::loop) {
    adam_one_by_one(slots, adds_decay);
  } else {
    for (const auto& group : by_dtype(slots)) {
      redistribute_grads(group, 1);
    }
  }
}

}  // namespace

void adam(const Update& update, const Slots& slots) {
  step(update, slots, update.decays, false);
}

void adamw(const Update& update, const Slots& slots) {
  step(update, slots, false, update.decays);
}

}  // namespace highwater::optim
