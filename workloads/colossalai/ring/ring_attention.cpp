#include "workloads/colossalai/ring/ring_attention.hpp"

#include "workloads/eager/runtime.hpp"

namespace highwater::colossalai {

using dist::ProcessGroup;
using eager::Node;

namespace {

Tensor transposed(const Tensor& x) {
  return eager::transpose(x, 2, 1);
}

// ring_forward: the device is idle before its result is used.
Tensor from_neighbour(const Tensor& own, ProcessGroup& ranks) {
  Tensor received = eager::empty(own.runtime(), own.sizes(), own.dtype());
  own.runtime().categorize(received, Category::communication);
  ranks.send(own);
  ranks.receive(received).wait();
  own.runtime().synchronize();
  return received;
}

// The columns of one rank: which rank's they are decides no size.
Tensor columns_of_one(const Tensor& whole, std::int64_t length) {
  return eager::slice(whole, -1, 0, length);
}

// The gradient of all ranks' keys or values, of which each rank takes its own part.
Tensor summed_part(const Tensor& of_all, std::int64_t length, ProcessGroup& ranks) {
  ranks.all_reduce(of_all).wait();
  return eager::slice(of_all, 1, 0, length);
}

Tensor scores_of(FunctionContext& context, const Tensor& query, Tensor key, ProcessGroup& ranks) {
  context.save_for_backward(query);
  context.save_for_backward(key);
  const std::int64_t length = query.size(1);
  Tensor scores =
      eager::empty(query.runtime(), {query.size(0), length, length * ranks.size()}, query.dtype());
  Tensor part = eager::matmul(query, transposed(key));
  for (int i = 1; i < ranks.size(); ++i) {
    key = from_neighbour(key, ranks);
    part = eager::matmul(query, transposed(key));
  }
  eager::end_of_frame(key, part);
  return scores;
}

TensorList scores_backward(Node& node, const Tensor& grad, ProcessGroup& ranks) {
  const Tensor query = node.unpack(0);
  Tensor key = node.unpack(1);
  const std::int64_t length = query.size(1);
  Tensor grad_key = summed_part(eager::matmul(transposed(grad), query), length, ranks);
  Tensor grad_query = eager::empty_like(query);
  eager::matmul(columns_of_one(grad, length), key);
  for (int i = 1; i < ranks.size(); ++i) {
    key = from_neighbour(key, ranks);
    eager::matmul(columns_of_one(grad, length), key);
  }
  return {grad_query, grad_key};
}

Tensor values_of(FunctionContext& context, const Tensor& probabilities, Tensor value,
                 ProcessGroup& ranks) {
  const std::int64_t length = value.size(1);
  Tensor result = eager::empty(value.runtime(), {probabilities.size(0), length, value.size(2)},
                               probabilities.dtype());
  context.save_for_backward(probabilities);
  context.save_for_backward(value);
  Tensor part = eager::matmul(columns_of_one(probabilities, length), value);
  for (int i = 1; i < ranks.size(); ++i) {
    value = from_neighbour(value, ranks);
    part = eager::matmul(columns_of_one(probabilities, length), value);
  }
  eager::end_of_frame(value, part);
  return result;
}

TensorList values_backward(Node& node, const Tensor& grad, ProcessGroup& ranks) {
  const Tensor probabilities = node.unpack(0);
  Tensor value = node.unpack(1);
  const std::int64_t length = value.size(1);
  Tensor grad_value = summed_part(eager::matmul(transposed(probabilities), grad), length, ranks);
  Tensor grad_probabilities = eager::empty_like(probabilities, grad.dtype());
  eager::matmul(grad, transposed(value));
  for (int i = 1; i < ranks.size(); ++i) {
    value = from_neighbour(value, ranks);
    eager::matmul(grad, transposed(value));
  }
  return {grad_probabilities, grad_value};
}

}  // namespace

Tensor ring_scores(const Tensor& query, const Tensor& key, ProcessGroup& ranks) {
  return apply_function(
      "RingQKBackward", {query, key},
      [&](FunctionContext& context) { return scores_of(context, query, key, ranks); },
      [&ranks](Node& node, TensorList& grads) { return scores_backward(node, grads[0], ranks); });
}

Tensor ring_values(const Tensor& probabilities, const Tensor& value, ProcessGroup& ranks) {
  return apply_function(
      "RingAVBackward", {probabilities, value},
      [&](FunctionContext& context) { return values_of(context, probabilities, value, ranks); },
      [&ranks](Node& node, TensorList& grads) { return values_backward(node, grads[0], ranks); });
}

}  // namespace highwater::colossalai
