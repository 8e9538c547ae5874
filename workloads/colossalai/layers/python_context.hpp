// torch.autograd.Function with several operands and saved tensors, as Colossal-AI's layers are
// written.
#pragma once

#include <functional>
#include <initializer_list>
#include <vector>

#include "workloads/eager/node.hpp"
#include "workloads/eager/ops.hpp"

namespace highwater::colossalai {

using eager::Dims;
using eager::Tensor;
using eager::TensorList;

/// The ctx of a forward: what it saves is kept once the forward has returned.
class FunctionContext {
 public:
  void save_for_backward(const Tensor& tensor) { to_save_.push_back(tensor); }

  [[nodiscard]] const std::vector<Tensor>& to_save() const { return to_save_; }

 private:
  std::vector<Tensor> to_save_;
};

/// Function.apply: `forward` runs without gradients, `backward` gives one gradient for each of
/// `operands`, of which some may be undefined.
Tensor apply_function(const char* name, std::initializer_list<Tensor> operands,
                      const std::function<Tensor(FunctionContext&)>& forward,
                      eager::BackwardFunction backward);

}  // namespace highwater::colossalai
