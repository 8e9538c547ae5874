#include "workloads/colossalai/python_function.hpp"

#include <memory>

#include "workloads/eager/ops.hpp"
#include "workloads/eager/runtime.hpp"

namespace highwater::dist {

using eager::Tensor;
using eager::TensorList;

void give_python_context(const eager::Ref<eager::Node>& node) {
  node->context = std::make_shared<int>(0);
}

Tensor python_function(const char* name, const Tensor& input,
                       const std::function<Tensor(const Tensor&)>& forward,
                       PythonBackward backward) {
  const auto node = eager::begin_node(input.runtime(), name, {input});
  Tensor result;
  {
    const eager::NoGrad no_grad(input.runtime());
    result = forward(eager::alias(input));
  }
  if (node) {
    give_python_context(node);
    node->backward = [backward = std::move(backward)](eager::Node&, TensorList& grads) {
      return TensorList{backward(grads[0])};
    };
    node->add_output(result);
  }
  return result;
}

}  // namespace highwater::dist
