#include "workloads/nn/zero3_linear.hpp"

#include "workloads/eager/ops.hpp"
#include "workloads/eager/runtime.hpp"
#include "workloads/plan/deepspeed_release.hpp"
#include "workloads/plan/training_plan.hpp"

namespace highwater::nn {

using eager::Tensor;
using eager::TensorList;

namespace {

Tensor rows(const Tensor& tensor) {
  return tensor.dim() > 2 ? eager::reshape(tensor, {-1, tensor.size(-1)}) : tensor;
}

// Bias: all dimensions but the last are summed.
Tensor bias_gradient(const Tensor& grad_output) {
  eager::Dims dims;
  for (std::int64_t i = 0; i + 1 < static_cast<std::int64_t>(grad_output.dim()); ++i) {
    dims.push_back(i);
  }
  return eager::sum(grad_output, dims, eager::KeepDim::no);
}

TensorList linear_backward(eager::Node& node, TensorList& grads) {
  const Tensor input = node.unpack(0);
  const Tensor weight = node.unpack(1);
  const Tensor& grad_output = grads[0];
  TensorList result(3);
  if (node.needs(0)) {
    result[0] = eager::matmul(grad_output, weight);
  }
  if (node.needs(1)) {
    result[1] = eager::matmul(eager::t(rows(grad_output)), rows(input));
  }
  if (node.needs(2)) {
    result[2] = bias_gradient(grad_output);
  }
  return result;
}

}  // namespace

bool partitions_as_made(const TrainingPlan& plan) {
  return plan.parallel.zero.init && !is_quantized(plan.quantization);
}

bool replaces_linear(const TrainingPlan& plan) {
  const bool is_zero3 = uses_deepspeed(plan) && plan.parallel.dp_kind == DataParallel::zero3;
  return partitions_as_made(plan) || (is_zero3 && is_recent_deepspeed(plan.versions));
}

Tensor zero3_linear(const Tensor& input, const Tensor& weight, const Tensor& bias) {
  eager::Runtime& runtime = input.runtime();
  const auto node =
      eager::begin_node(runtime, "LinearFunctionForZeroStage3Backward", {input, weight, bias});
  Tensor output;
  {
    const eager::NoGrad no_grad(runtime);
    if (input.dim() == 2 && bias.defined()) {
      output = eager::addmm(bias, input, eager::t(weight));
    } else {
      output = eager::matmul(input, eager::t(weight));
      runtime.launch(bias.defined() ? 1 : 0);  // +=
    }
  }
  if (node) {
    node->save(input);
    node->save(weight);
  }
  eager::finish_node(node, output, linear_backward);
  return output;
}

}  // namespace highwater::nn
