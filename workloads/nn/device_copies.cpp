#include "workloads/nn/device_copies.hpp"

#include "workloads/eager/runtime.hpp"

namespace highwater::pipelining {

using eager::Node;
using eager::Tensor;
using eager::TensorList;

Tensor elsewhere(eager::Runtime& runtime, const eager::Dims& sizes, DType dtype) {
  return eager::empty_on(runtime, eager::Place::meta, sizes, dtype);
}

Tensor from_elsewhere(const Tensor& self) {
  eager::Runtime& runtime = self.runtime();
  const auto node = eager::begin_node(runtime, "ToCopyBackward0", {self});
  const eager::OpScope op(runtime, "_to_copy");
  const Tensor result = eager::empty(runtime, self.sizes(), self.dtype());
  eager::finish_node(node, result, [](Node& own, TensorList& grads) {
    return TensorList{elsewhere(*own.runtime, grads[0].sizes(), grads[0].dtype())};
  });
  return result;
}

Tensor to_elsewhere(const Tensor& self) {
  eager::Runtime& runtime = self.runtime();
  const auto node = eager::begin_node(runtime, "ToCopyBackward0", {self});
  const Tensor result = elsewhere(runtime, self.sizes(), self.dtype());
  eager::finish_node(node, result, [](Node& own, TensorList& grads) {
    const eager::OpScope op(*own.runtime, "_to_copy");
    return TensorList{eager::empty(*own.runtime, grads[0].sizes(), grads[0].dtype())};
  });
  return result;
}

}  // namespace highwater::pipelining
