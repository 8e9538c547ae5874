#include "workloads/distributed/tensor_parallel/dtensor_functions.hpp"

#include <utility>

namespace highwater::dist {

using eager::Tensor;
using eager::TensorList;

namespace {

// Function.apply of a function of one tensor: `forward` runs without gradients.
Tensor apply(const char* name, bool makes_dtensor, const Tensor& input, const Conversion& forward,
             Conversion backward) {
  eager::Runtime& runtime = input.runtime();
  const auto node = eager::begin_node(runtime, name, {input});
  Tensor output;
  {
    const eager::NoGrad no_grad(runtime);
    output = forward(input);
  }
  const DispatchDTensors dispatch(runtime, makes_dtensor);
  eager::finish_node(node, output,
                     [convert = std::move(backward)](eager::Node&, TensorList& grads) {
                       return TensorList{convert(grads[0])};
                     });
  return output;
}

}  // namespace

Tensor unchanged(const Tensor& local) {
  return local;
}

Tensor from_local(const Tensor& local, Conversion gradient_back) {
  return apply("_FromTorchTensorBackward", true, local, eager::alias, std::move(gradient_back));
}

Tensor to_local(const Tensor& dtensor) {
  return apply("_ToTorchTensorBackward", false, dtensor, eager::alias, unchanged);
}

Tensor redistribute(const Tensor& dtensor, const Conversion& forward, Conversion backward) {
  return apply("RedistributeBackward", true, dtensor, forward, std::move(backward));
}

}  // namespace highwater::dist
