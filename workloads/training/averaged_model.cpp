#include "workloads/training/averaged_model.hpp"

#include <algorithm>

#include "workloads/eager/ops.hpp"

namespace highwater {

void AveragedModel::copy(nn::Module& module) {
  copy(module.own_parameters());
  copy(module.own_buffers());
  for (nn::Module* child : module.children()) {
    copy(*child);
  }
}

void AveragedModel::copy(const std::vector<nn::NamedTensor>& tensors) {
  for (const nn::NamedTensor& entry : tensors) {
    const eager::Tensor& tensor = entry.tensor;
    const eager::Storage* const storage = tensor->storage.get();
    if (tensor.place() != eager::Place::cuda || std::ranges::count(copied_, storage) > 0) {
      continue;
    }
    copied_.push_back(storage);
    eager::NoGrad no_grad(tensor.runtime());
    copies_.push_back(eager::clone(tensor));
    tensor.runtime().categorize(copies_.back(), Category::weight_copy);
  }
}

}  // namespace highwater
