#include "workloads/distributed/fsdp2/managed_states.hpp"

namespace highwater::dist {

using eager::Tensor;

// _get_managed_modules and _get_managed_states: children come before their module; what another
// unit already manages is left out.
void collect_states(nn::Module& module, std::unordered_set<const void*>& seen,
                    ManagedStates& states) {
  const auto add = [&seen](const std::vector<nn::NamedTensor>& own, std::vector<Tensor>& managed) {
    for (const nn::NamedTensor& entry : own) {
      if (entry.tensor.defined() && seen.insert(entry.tensor.get()).second) {
        managed.push_back(entry.tensor);
      }
    }
  };
  for (nn::Module* child : module.children()) {
    collect_states(*child, seen, states);
  }
  add(module.own_parameters(), states.params);
  add(module.own_buffers(), states.buffers);
}

// _move_states_to_device: what is on meta stays there.
void move_states_to_device(const ManagedStates& states) {
  const auto move = [](const std::vector<Tensor>& tensors, Category category) {
    for (const Tensor& tensor : tensors) {
      if (tensor.place() == eager::Place::host) {
        nn::move_tensor_to_cuda(tensor, category);
      }
    }
  };
  move(states.params, Category::parameter);
  move(states.buffers, Category::buffer);
}

}  // namespace highwater::dist
