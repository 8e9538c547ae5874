// What the update rules share.
#include "workloads/optim/algorithms.hpp"

#include "workloads/eager/ops.hpp"
#include "workloads/kernels/foreach.hpp"

namespace highwater::optim {

void add_state(Slot& slot, Tensor tensor) {
  tensor.runtime().categorize(tensor, Category::optimizer_state);
  slot.state.push_back(std::move(tensor));
}

std::vector<Slots> by_dtype(const Slots& slots) {
  std::vector<Tensor> params;
  for (const Slot* slot : slots) {
    params.push_back(slot->param);
  }
  std::vector<Slots> groups;
  for (const DType dtype : dtype_groups(params)) {
    Slots& group = groups.emplace_back();
    for (Slot* slot : slots) {
      if (slot->param.dtype() == dtype) {
        group.push_back(slot);
      }
    }
  }
  return groups;
}

void launch_foreach(const Slots& slots, int most_tensors) {
  std::vector<std::int64_t> numels;
  for (const Slot* slot : slots) {
    numels.push_back(slot->param.numel());
  }
  if (!slots.empty()) {
    slots.front()->param.runtime().launch(foreach_kernels(numels, most_tensors));
  }
}

namespace {

constexpr int kMostTensorsOfTwoLists = 64;

// All results exist before the first kernel.
Tensor result_like(const char* op, const Tensor& like) {
  const eager::OpScope scope(like.runtime(), op, 0);
  return eager::empty_like(like);
}

}  // namespace

TensorVector foreach_grads(const char* op, const Slots& slots) {
  TensorVector results;
  for (const Slot* slot : slots) {
    results.push_back(result_like(op, slot->param->grad));
  }
  launch_foreach(slots, kMostTensorsOfTwoLists);
  return results;
}

TensorVector foreach_state(const char* op, const Slots& slots, std::size_t index) {
  TensorVector results;
  for (const Slot* slot : slots) {
    results.push_back(result_like(op, slot->state[index]));
  }
  launch_foreach(slots, kMostTensorsOfTwoLists);
  return results;
}

}  // namespace highwater::optim
