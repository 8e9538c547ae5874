#include "workloads/megatron/moe/router_gate.hpp"

#include <utility>

#include "workloads/eager/node.hpp"

namespace highwater::megatron {

using eager::Node;
using eager::Tensor;
using eager::TensorList;

namespace {

Tensor product(eager::Runtime& runtime, const eager::Dims& sizes) {
  const eager::OpScope op(runtime, "te_general_gemm");
  return eager::empty(runtime, sizes, DType::fp32);
}

// RouterGatingLinearFunction.backward: both products need fp32 operands.
TensorList engine_backward(Node& node, TensorList& grads) {
  const Tensor input = node.unpack(0);
  const Tensor weight = node.unpack(1);
  eager::Runtime& runtime = *node.runtime;
  const eager::Dims rows{grads[0].numel() / weight.size(0), input.size(-1)};
  const auto with_wide = [&](const Tensor& operand, const eager::Dims& sizes) {
    const Tensor wide = eager::to_dtype(operand, DType::fp32);
    return product(runtime, sizes);
  };
  Tensor grad_input = with_wide(weight, rows);
  Tensor grad_weight = with_wide(input, weight.sizes());
  grad_input = eager::to_dtype(grad_input, input.dtype());
  grad_weight = eager::to_dtype(grad_weight, weight.dtype());
  grad_input = eager::view(grad_input, input.sizes());
  return {std::move(grad_input), std::move(grad_weight)};
}

// get_workspace() of Transformer Engine: once per process, 32 MiB from Hopper on.
void make_workspace_once(eager::Runtime& runtime, bool& is_made) {
  if (std::exchange(is_made, true)) {
    return;
  }
  constexpr std::int64_t kMiB = 1 << 20;
  const std::int64_t bytes = runtime.gpu.major >= 9 ? 32 * kMiB : 4 * kMiB;
  const eager::OpScope op(runtime, "get_cublas_workspace", 0);
  const Tensor workspace = eager::empty(runtime, {bytes}, DType::uint8);
  runtime.categorize(workspace, Category::workspace);
  runtime.workspaces.push_back(workspace);
}

// [s, b, h] as [s * b, h].
Tensor as_rows(const Tensor& states) {
  return eager::view(states, {-1, states.size(-1)});
}

TensorList torch_backward(Node& node, TensorList& grads) {
  const Tensor input = node.unpack(0);
  const Tensor weight = node.unpack(1);
  const DType dtype = grads[0].dtype();
  const Tensor gradient = as_rows(grads[0]);
  Tensor of_input = eager::mm(gradient, eager::to_dtype(weight, dtype));
  of_input = eager::to_dtype(of_input, input.dtype());
  Tensor of_weight = eager::mm(eager::t(gradient), eager::to_dtype(as_rows(input), dtype));
  of_weight = eager::to_dtype(of_weight, weight.dtype());
  of_input = eager::view(of_input, input.sizes());
  return {std::move(of_input), std::move(of_weight)};
}

}  // namespace

Tensor gate_of_torch(const Tensor& input, const Tensor& weight, DType dtype) {
  eager::Runtime& runtime = input.runtime();
  const auto node =
      eager::begin_node(runtime, "RouterGatingLinearFunctionBackward", {input, weight});
  eager::Dims sizes = input.sizes();
  sizes.back() = weight.size(0);
  Tensor logits;
  {
    const eager::NoGrad no_grad(runtime);
    Tensor rows = eager::to_dtype(as_rows(input), dtype);
    Tensor columns = eager::t(eager::to_dtype(weight, dtype));
    logits = eager::mm(rows, columns);
    eager::end_of_frame(rows, columns);
  }
  logits = eager::view(logits, sizes);
  eager::finish_node(node, logits, torch_backward);
  if (node) {
    node->save(input);
    node->save(weight);
  }
  return logits;
}

Tensor gate_of_engine(const Tensor& input, const Tensor& weight, bool& has_workspace) {
  eager::Runtime& runtime = input.runtime();
  make_workspace_once(runtime, has_workspace);
  const auto node =
      eager::begin_node(runtime, "RouterGatingLinearFunctionBackward", {input, weight});
  eager::Dims sizes = input.sizes();
  sizes.back() = weight.size(0);
  Tensor logits = product(runtime, sizes);
  eager::finish_node(node, logits, engine_backward);
  if (node) {
    node->save(input);
    node->save(weight);
  }
  return logits;
}

}  // namespace highwater::megatron
