#include "workloads/colossalai/layers/collectives.hpp"

#include "workloads/eager/runtime.hpp"

namespace highwater::colossalai {

using eager::Node;

namespace {

Tensor in_front(const Tensor& tensor, std::int64_t dim) {
  return eager::contiguous(dim == 0 ? tensor : eager::transpose(tensor, 0, dim));
}

Tensor in_place_of(const Tensor& tensor, std::int64_t dim) {
  return dim == 0 ? tensor : eager::transpose(tensor, 0, dim);
}

Tensor communicated(const Dims& sizes, const Tensor& like) {
  Tensor result = eager::empty(like.runtime(), sizes, like.dtype());
  like.runtime().categorize_transient(result, Category::communication);
  return result;
}

}  // namespace

Tensor all_gather(const Tensor& part, std::int64_t dim, ProcessGroup& group) {
  if (group.size() == 1) {
    return part;
  }
  Tensor in = in_front(part, dim);
  Dims sizes = in.sizes();
  sizes[0] *= group.size();
  Tensor out = communicated(sizes, in);
  group.all_gather_into_tensor(out, in);
  Tensor result = in_place_of(out, dim);
  eager::end_of_frame(in, out);
  return result;
}

Tensor reduce_scatter(const Tensor& terms, std::int64_t dim, ProcessGroup& group) {
  if (group.size() == 1) {
    return terms;
  }
  Tensor in = in_front(terms, dim);
  Dims sizes = in.sizes();
  sizes[0] /= group.size();
  Tensor out = communicated(sizes, in);
  group.reduce_scatter_tensor(out, in);
  Tensor result = in_place_of(out, dim);
  eager::end_of_frame(in, out);
  return result;
}

Scattered start_reduce_scatter(const Tensor& terms, std::int64_t dim, ProcessGroup& group) {
  if (group.size() == 1) {
    return {terms, {}};
  }
  Tensor in = in_front(terms, dim);
  Dims sizes = in.sizes();
  sizes[0] /= group.size();
  Tensor out = communicated(sizes, in);
  const dist::Work work = group.reduce_scatter_async(out, in);
  Tensor result = in_place_of(out, dim);
  eager::end_of_frame(in, out);
  return {result, work};
}

Tensor all_reduce(const Tensor& terms, ProcessGroup& group) {
  if (group.size() == 1) {
    return terms;
  }
  Tensor result = eager::contiguous(terms);
  group.all_reduce(result).wait();
  return result;
}

Tensor gather_tensor(const Tensor& part, std::int64_t dim, ProcessGroup& group) {
  return apply_function(
      "_AllGatherTensorBackward", {part},
      [&](FunctionContext&) { return eager::alias(all_gather(part, dim, group)); },
      [dim, &group](Node&, TensorList& grads) {
        return TensorList{reduce_scatter(grads[0], dim, group)};
      });
}

Tensor gather_contiguous_tensor(const Tensor& part, std::int64_t dim, ProcessGroup& group) {
  return apply_function(
      "_AllGatherTensorBackward", {part},
      [&](FunctionContext&) { return eager::alias(all_gather(part, dim, group)); },
      [dim, &group](Node&, TensorList& grads) {
        Tensor grad = reduce_scatter(grads[0], dim, group);
        Tensor result = eager::contiguous(grad);
        grad.reset();
        return TensorList{result};
      });
}

Tensor reduce_scatter_tensor(const Tensor& terms, std::int64_t dim, ProcessGroup& group) {
  return apply_function(
      "_ReduceScatterTensorBackward", {terms},
      [&](FunctionContext&) { return eager::alias(reduce_scatter(terms, dim, group)); },
      [dim, &group](Node&, TensorList& grads) {
        return TensorList{all_gather(grads[0], dim, group)};
      });
}

Tensor mean_over_ranks(const Tensor& loss, std::initializer_list<ProcessGroup*> groups) {
  return apply_function(
      "_ReduceByBatchBackward", {loss},
      [&](FunctionContext&) {
        Tensor output = loss;
        for (ProcessGroup* group : groups) {
          output = all_reduce(output, *group);
        }
        const Tensor copy = eager::clone(output);
        return eager::div(copy, 1.0);
      },
      [](Node&, TensorList& grads) { return TensorList{eager::div(grads[0], 1.0)}; });
}

Tensor own_rows(const Tensor& whole, std::int64_t ranks, std::int64_t rank) {
  const std::int64_t rows = whole.size(0) / ranks;
  return eager::contiguous(eager::slice(whole, 0, rank * rows, (rank + 1) * rows));
}

}  // namespace highwater::colossalai
