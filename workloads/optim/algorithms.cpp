// What the update rules share.
#include "workloads/optim/algorithms.hpp"

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

TensorVector foreach_grads(const char* op, const Slots& slots) {
  TensorVector results;
  for (const Slot* slot : slots) {
    results.push_back(make_like(op, slot->param->grad));
  }
  return results;
}

TensorVector foreach_state(const char* op, const Slots& slots, std::size_t index) {
  TensorVector results;
  for (const Slot* slot : slots) {
    results.push_back(make_like(op, slot->state[index]));
  }
  return results;
}

}  // namespace highwater::optim
