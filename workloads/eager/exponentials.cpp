// Exponentials and what is made of them (derivatives.yaml and FunctionsManual.cpp of PyTorch 2.15).
// Autocast requires fp32 of all of them.
#include "workloads/eager/autocast.hpp"
#include "workloads/eager/ops.hpp"
#include "workloads/eager/runtime.hpp"

namespace highwater::eager {

namespace {

Tensor like(const char* op, const Tensor& self) {
  return pointwise(op, {self}, self.dtype());
}

// grad * factor
TensorList scaled(const TensorList& grads, const Tensor& factor) {
  return {pointwise("mul", {grads[0], factor}, promote(grads[0], factor))};
}

// logsumexp_backward: grad * (self - result).exp()
TensorList logsumexp_backward(Node& own, TensorList& grads, std::int64_t dim) {
  const Tensor grad = unsqueeze(grads[0], dim);
  const Tensor self = own.unpack(0);
  const Tensor result = unsqueeze(own.unpack(1), dim);
  const Tensor difference = pointwise("sub", {self, result}, self.dtype());
  const Tensor factor = like("exp", difference);
  return {pointwise("mul", {grad, factor}, promote(grad, factor))};
}

// The greatest of each row, 0 where that is infinite.
Tensor finite_maxima(const Tensor& self, std::int64_t dim) {
  Tensor maxima = reduce_plain("amax", self, {dim}, KeepDim::yes, self.dtype());
  Tensor absolute = like("abs", maxima);
  const Tensor infinite = compare("eq", {absolute});
  return maxima;
}

}  // namespace

Tensor exp(const Tensor& input) {
  const AutocastOp cast(input.runtime());
  const Tensor self = cast.to_fp32(input);
  const auto node = begin_node(self.runtime(), "ExpBackward0", {self});
  Tensor result = like("exp", self);
  finish_node(node, result,
              [](Node& own, TensorList& grads) { return scaled(grads, own.unpack(0)); });
  if (node) {
    node->save_output(result);
  }
  return result;
}

// grad * (result + 1)
Tensor expm1(const Tensor& input) {
  const AutocastOp cast(input.runtime());
  const Tensor self = cast.to_fp32(input);
  const auto node = begin_node(self.runtime(), "Expm1Backward0", {self});
  Tensor result = like("expm1", self);
  finish_node(node, result, [](Node& own, TensorList& grads) {
    const Tensor kept = own.unpack(0);
    const Tensor factor = like("add", kept);
    return scaled(grads, factor);
  });
  if (node) {
    node->save_output(result);
  }
  return result;
}

Tensor softplus(const Tensor& input) {
  const AutocastOp cast(input.runtime());
  const Tensor self = cast.to_fp32(input);
  const auto node = begin_node(self.runtime(), "SoftplusBackward0", {self});
  if (node) {
    node->save(self);
  }
  Tensor result = like("softplus", self);
  finish_node(node, result, [](Node& own, TensorList& grads) {
    const Tensor kept = own.unpack(0);
    return TensorList{pointwise("softplus_backward", {grads[0], kept}, kept.dtype())};
  });
  return result;
}

// where(self == other, grad / 2, grad).masked_fill_(self > other, 0)
Tensor minimum(const Tensor& self, const Tensor& other) {
  const auto node = begin_node(self.runtime(), "MinimumBackward0", {self, other});
  if (node) {
    node->save(self);
    node->save(other);
  }
  Tensor result = pointwise("minimum", {self, other}, promote(self, other));
  finish_node(node, result, [](Node& own, TensorList& grads) {
    const Tensor kept = own.unpack(0);
    const Tensor bound = own.unpack(1);
    TensorList out(2);
    const Tensor is_equal = compare("eq", {kept, bound});
    const Tensor half = like("div", grads[0]);
    const Tensor is_above = compare("gt", {kept, bound});
    out[0] = pointwise("where", {is_equal, half, grads[0]}, grads[0].dtype());
    return out;
  });
  return result;
}

// logsumexp_out_impl (ATen/native/ReduceOps.cpp): the sum of exponentials below the greatest.
Tensor logsumexp(const Tensor& input, std::int64_t dim) {
  const AutocastOp cast(input.runtime());
  const Tensor self = cast.to_fp32(input);
  const auto node = begin_node(self.runtime(), "LogsumexpBackward0", {self});
  if (node) {
    node->save(self);
  }
  Tensor result;
  {
    const NoGrad no_grad(self.runtime());
    const Tensor maxima = finite_maxima(self, dim);
    const Tensor powers = pointwise("sub", {self, maxima}, self.dtype());
    result = sum(powers, {dim}, KeepDim::no, self.dtype());
  }
  finish_node(node, result,
              [dim](Node& own, TensorList& grads) { return logsumexp_backward(own, grads, dim); });
  if (node) {
    node->save_output(result);
  }
  return result;
}

}  // namespace highwater::eager
