#include "workloads/megatron/layers/tensor_parallel.hpp"

#include <algorithm>

#include "workloads/eager/node.hpp"
#include "workloads/plan/parallelism.hpp"

namespace highwater::megatron {
namespace {

// _gather_along_first_dim without the global buffer.
Tensor gather_first(TensorParallel& tp, const Tensor& input) {
  Tensor output = eager::empty(input.runtime(),
                               with_first(input.sizes(), input.size(0) * tp.size()), input.dtype());
  tp.group().all_gather_into_tensor(output, eager::contiguous(input));
  return output;
}

eager::BackwardFunction gather_in_backward(TensorParallel& tp) {
  return [&tp](eager::Node&, TensorList& grads) { return TensorList{gather_first(tp, grads[0])}; };
}

Tensor flat_block(const Tensor& like, Parts parts) {
  constexpr Release kWithoutCopy{2, 15};  // recorded of it; the releases since 2.6 were not
  const bool is_copied = parts == Parts::listed && like.runtime().torch < kWithoutCopy;
  return is_copied ? eager::empty(like.runtime(), like.sizes(), like.dtype()) : Tensor{};
}

// _gather_along_first_dim.
Tensor gathered(TensorParallel& tp, const Tensor& input, Parts parts) {
  const eager::NoGrad no_grad(input.runtime());
  Tensor output = eager::empty(input.runtime(),
                               with_first(input.sizes(), input.size(0) * tp.size()), input.dtype());
  const Tensor flat = flat_block(output, parts);
  tp.group().all_gather_into_tensor(output, eager::contiguous(input));
  return output;
}

// _reduce_scatter_along_first_dim.
Tensor reduced(TensorParallel& tp, const Tensor& input, Parts parts) {
  const eager::NoGrad no_grad(input.runtime());
  Tensor output = eager::empty(input.runtime(),
                               with_first(input.sizes(), input.size(0) / tp.size()), input.dtype());
  const Tensor flat = flat_block(input, parts);
  tp.group().reduce_scatter_tensor(output, eager::contiguous(input));
  return output;
}

}  // namespace

TensorParallel::TensorParallel(eager::Runtime& runtime, const Parallelism& plan)
    : group_(runtime, plan.tp, plan.backend),
      splits_sequence_(plan.sequence_parallel && plan.tp > 1),
      fuses_weight_gradients_(plan.megatron.wgrad_fusion),
      sums_in_fp32_(plan.megatron.fp32_grads),
      keeps_stand_ins_(plan.megatron.layers == MegatronLayers::transformer_engine) {}

Tensor TensorParallel::stand_in_gradient(const Tensor& weight) {
  eager::Runtime& runtime = group_.runtime();
  const auto make = [&] {
    const eager::OpScope op(runtime, "get_dummy_wgrad");
    return eager::empty(runtime, weight.sizes(), weight.dtype());
  };
  if (!keeps_stand_ins_) {
    return make();
  }
  std::string name = "get_dummy_wgrad " + std::string(to_string(weight.dtype()));
  for (const std::int64_t size : weight.sizes()) {
    name += " " + std::to_string(size);
  }
  Tensor& kept = runtime.kept(name);
  if (!kept.defined()) {
    kept = make();
    runtime.categorize(kept, Category::workspace);
  }
  return eager::alias(kept);
}

Tensor TensorParallel::global_buffer(const Dims& sizes, DType dtype) {
  auto found = std::ranges::find(buffers_, dtype, &Tensor::dtype);
  const std::int64_t needed = eager::element_count(sizes);
  if (found == buffers_.end() || found->numel() < needed) {
    const eager::OpScope op(group_.runtime(), "GlobalMemoryBuffer.get_tensor");
    Tensor larger = eager::empty(group_.runtime(), {needed}, dtype);
    group_.runtime().categorize(larger, Category::workspace);
    found = found == buffers_.end() ? buffers_.insert(found, Tensor{}) : found;
    std::swap(*found, larger);
  }
  Tensor view = eager::alias(*found);
  view->sizes = sizes;
  view->strides = eager::contiguous_strides(sizes);
  return view;
}

Tensor TensorParallel::gather_into_buffer(const Tensor& input, dist::Work& work) {
  Tensor buffer = global_buffer(with_first(input.sizes(), input.size(0) * size()), input.dtype());
  work = group_.all_gather_async(buffer, input);
  return buffer;
}

Dims with_first(Dims sizes, std::int64_t first) {
  sizes.front() = first;
  return sizes;
}

// Its backward passes the gradient on, so no node is needed.
Tensor reduce_from_region(TensorParallel& tp, const Tensor& input) {
  if (tp.size() > 1) {
    tp.group().all_reduce(eager::contiguous(input)).wait();
  }
  return input;
}

Tensor scatter_to_sequence(TensorParallel& tp, const Tensor& input) {
  const auto node =
      eager::begin_node(input.runtime(), "_ScatterToSequenceParallelRegionBackward", {input});
  Tensor part;
  {
    const eager::NoGrad no_grad(input.runtime());
    part = eager::alias(eager::slice(input, 0, 0, input.size(0) / tp.size()));
  }
  eager::finish_node(node, part, gather_in_backward(tp));
  return part;
}

Tensor reduce_scatter_to_sequence(TensorParallel& tp, const Tensor& input) {
  const auto node =
      eager::begin_node(input.runtime(), "_ReduceScatterToSequenceParallelRegionBackward", {input});
  Tensor part;
  {
    const eager::NoGrad no_grad(input.runtime());
    part = eager::empty(input.runtime(), with_first(input.sizes(), input.size(0) / tp.size()),
                        input.dtype());
    tp.group().reduce_scatter_tensor(part, eager::contiguous(input));
  }
  eager::finish_node(node, part, gather_in_backward(tp));
  return part;
}

Tensor gather_from_sequence(TensorParallel& tp, const Tensor& input, Parts parts) {
  const auto node =
      eager::begin_node(input.runtime(), "_GatherFromSequenceParallelRegionBackward", {input});
  Tensor output = gathered(tp, input, parts);
  eager::finish_node(node, output, [&tp, parts](Node&, TensorList& grads) {
    return TensorList{reduced(tp, grads[0], parts)};
  });
  return output;
}

Tensor reduce_scatter_rows(TensorParallel& tp, const Tensor& input, Parts parts) {
  const auto node =
      eager::begin_node(input.runtime(), "_ReduceScatterToSequenceParallelRegionBackward", {input});
  Tensor output = reduced(tp, input, parts);
  eager::finish_node(node, output, [&tp, parts](Node&, TensorList& grads) {
    return TensorList{gathered(tp, grads[0], parts)};
  });
  return output;
}

}  // namespace highwater::megatron
