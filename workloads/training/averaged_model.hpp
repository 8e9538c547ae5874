// A copy of the model beside it, whose parameters are averaged with the model's after each step.
//
// Sources: PyTorch 2.15, torch/optim/swa_utils.py AveragedModel (deepcopy, then _foreach_lerp_ in
// place), torch/nn/parameter.py Parameter.__deepcopy__; a loop of a script over mul_ and add_
// allocates nothing either.
#pragma once

#include <vector>

#include "workloads/nn/module.hpp"

namespace highwater {

class AveragedModel {
 public:
  /// copy.deepcopy(model): module by module its parameters, its buffers, then its children; what is
  /// tied is copied once.
  explicit AveragedModel(nn::Module& model) { copy(model); }

 private:
  void copy(nn::Module& module);
  void copy(const std::vector<nn::NamedTensor>& tensors);

  std::vector<const eager::Storage*> copied_;
  std::vector<eager::Tensor> copies_;
};

}  // namespace highwater
