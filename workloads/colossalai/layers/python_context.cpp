#include "workloads/colossalai/layers/python_context.hpp"

#include <algorithm>
#include <utility>

#include "workloads/colossalai/python_function.hpp"
#include "workloads/eager/runtime.hpp"

namespace highwater::colossalai {
namespace {

void keep(const eager::Ref<eager::Node>& node, const Tensor& tensor, const Tensor& result) {
  if (tensor.get() == result.get()) {
    node->save_output(tensor);
  } else {
    node->save(tensor);
  }
}

}  // namespace

Tensor apply_function(const char* name, std::initializer_list<Tensor> operands,
                      const std::function<Tensor(FunctionContext&)>& forward,
                      eager::BackwardFunction backward) {
  const auto* first =
      std::ranges::find_if(operands, [](const Tensor& operand) { return operand.defined(); });
  eager::Runtime& runtime = first->runtime();
  const auto node = eager::begin_node(runtime, name, operands);
  FunctionContext context;
  Tensor result;
  {
    const eager::NoGrad no_grad(runtime);
    result = forward(context);
  }
  if (node) {
    dist::give_python_context(node);
    node->backward = std::move(backward);
    node->add_output(result);
    for (const Tensor& tensor : context.to_save()) {
      keep(node, tensor, result);
    }
  }
  return result;
}

}  // namespace highwater::colossalai
