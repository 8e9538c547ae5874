#include "workloads/distributed/tensor_parallel/loss_parallel.hpp"

#include <utility>

#include "workloads/distributed/tensor_parallel/dtensor_functions.hpp"
#include "workloads/distributed/tensor_parallel/masked_indices.hpp"

namespace highwater::dist {

using eager::Tensor;
using eager::TensorList;

namespace {

Tensor elementwise(const char* op, const Tensor& self) {
  return eager::pointwise(op, {self}, self.dtype());
}

// torch.where(target != ignore_index, self, 0): the number becomes a tensor.
Tensor where_counted(const Tensor& target, const Tensor& self) {
  const Tensor counted = eager::compare("ne", {target});
  const Tensor zero = eager::empty(self.runtime(), {}, self.dtype());
  return eager::where(counted, self, zero);
}

// _log_softmax: the largest logit and the sum of exponentials are reduced over the ranks.
Tensor log_softmax_of_shard(DeviceMesh& mesh, const Tensor& x) {
  Tensor x_max = eager::reduce_plain("amax", x, {1}, eager::KeepDim::yes, x.dtype());
  x_max = mesh.all_reduce(x_max);
  Tensor shifted = eager::sub(x, x_max);
  Tensor shifted_sumexp;
  {
    const Tensor exponentials = elementwise("exp", shifted);
    shifted_sumexp = eager::sum(exponentials, {1}, eager::KeepDim::yes);
  }
  shifted_sumexp = mesh.all_reduce(shifted_sumexp);
  Tensor shifted_logsumexp = elementwise("log", shifted_sumexp);
  Tensor result = eager::sub(shifted, shifted_logsumexp);
  eager::end_of_frame(shifted, x_max, shifted_sumexp, shifted_logsumexp);
  return result;
}

struct NllLoss {
  Tensor result;
  Tensor total_weight;
};

Tensor count_of(const Tensor& target, DType dtype) {
  Tensor count;
  {
    const Tensor counted = eager::compare("ne", {target});
    count = eager::sum(counted, {}, eager::KeepDim::no, DType::int64);
  }
  return eager::to_dtype(count, dtype);
}

// _nll_loss_forward with reduction mean.
NllLoss nll_loss_of_shard(DeviceMesh& mesh, const Tensor& x, const Tensor& target) {
  NllLoss loss;
  Tensor safe_target = where_counted(target, target);
  MaskedIndices own = mask_indices_of_others(eager::unsqueeze(safe_target, 1));
  Tensor result_partial = eager::gather(x, 1, own.indices);
  own.mask.reset();
  mesh.runtime().launch(1);  // it was applied in place
  Tensor result_reduced = mesh.all_reduce(result_partial);
  Tensor result = eager::neg(eager::squeeze(result_reduced, 1));
  result = where_counted(target, result);
  loss.total_weight = count_of(target, x.dtype());
  {
    const Tensor sum = eager::sum(result, {}, eager::KeepDim::no);
    loss.result = eager::div(sum, loss.total_weight);
  }
  eager::end_of_frame(result, safe_target, own.indices, result_partial, result_reduced);
  return loss;
}

// _nll_loss_and_log_softmax_backward.
Tensor backward_of_both(Tensor grad_output, const Tensor& x, const Tensor& target,
                        const Tensor& total_weight) {
  grad_output = eager::div(grad_output, total_weight);
  const Tensor column = eager::unsqueeze(target, 1);
  Tensor safe_target = where_counted(column, column);
  Tensor grad_input = eager::empty_like(x);
  safe_target = eager::flatten(eager::squeeze(safe_target, 1), 0, -1);
  MaskedIndices own = mask_indices_of_others(safe_target);
  Tensor grad_update;
  {
    const Tensor wide = eager::to_dtype(own.mask, x.dtype());
    grad_update = elementwise("sub", wide);
  }
  Tensor arange_1d = eager::arange(x.runtime(), own.indices.size(0));
  grad_output = where_counted(column, eager::expand(grad_output, column.sizes()));
  Tensor result;
  {
    Tensor sum;
    {
      const Tensor probabilities = elementwise("exp", x);
      sum = eager::add(grad_input, probabilities);
    }
    result = eager::mul(sum, grad_output);
  }
  eager::end_of_frame(grad_output, safe_target, grad_input, own.mask, own.indices, grad_update,
                      arange_1d);
  return result;
}

// The backward of log_softmax passes on what that of nll_loss has computed.
Tensor log_softmax(DeviceMesh& mesh, const Tensor& x) {
  eager::Runtime& runtime = mesh.runtime();
  const auto node = eager::begin_node(runtime, "LogSoftmaxBackward0", {x});
  const eager::OpScope op(runtime, "_log_softmax", 0);
  Tensor result;
  {
    const eager::NoGrad no_grad(runtime);
    result = log_softmax_of_shard(mesh, x);
  }
  eager::finish_node(node, result, [dtype = x.dtype()](eager::Node&, TensorList& grads) {
    return TensorList{eager::to_dtype(grads[0], dtype)};
  });
  if (node) {
    node->save_output(result);
  }
  return result;
}

Tensor nll_loss(DeviceMesh& mesh, const Tensor& x, const Tensor& target) {
  eager::Runtime& runtime = mesh.runtime();
  const auto node = eager::begin_node(runtime, "NllLossBackward0", {x});
  if (node) {
    node->save(x);
    node->save(target);
  }
  const eager::OpScope op(runtime, "nll_loss_forward", 0);
  NllLoss loss;
  {
    const eager::NoGrad no_grad(runtime);
    loss = nll_loss_of_shard(mesh, x, target);
  }
  eager::finish_node(node, loss.result, [](eager::Node& own, TensorList& grads) {
    const Tensor log_probabilities = own.unpack(0);
    const Tensor classes = own.unpack(1);
    const Tensor total_weight = own.unpack(2);
    const eager::OpScope scope(*own.runtime, "nll_loss_backward", 0);
    return TensorList{backward_of_both(grads[0], log_probabilities, classes, total_weight)};
  });
  if (node) {
    node->save_output(loss.total_weight);
  }
  return loss.result;
}

}  // namespace

Tensor parallel_cross_entropy(DeviceMesh& mesh, const Tensor& logits, const Tensor& target) {
  const DispatchDTensors dispatch(mesh.runtime());
  const Tensor log_probabilities = log_softmax(mesh, eager::to_dtype(logits, DType::fp32));
  return nll_loss(mesh, log_probabilities, target);
}

}  // namespace highwater::dist
