#include "workloads/distributed/fsdp2/fsdp_collectives.hpp"

#include <algorithm>
#include <utility>

#include "workloads/eager/graph_recorder.hpp"
#include "workloads/kernels/chunk_cat.hpp"

namespace highwater::dist {

using eager::OnStream;
using eager::OpScope;
using eager::Runtime;
using eager::Tensor;

namespace {

// Of a rank's shards, as they are gathered.
std::int64_t gathered_bytes(std::span<const FsdpParam> params) {
  std::int64_t sum = 0;
  for (const FsdpParam& param : params) {
    sum += param.padded_numel() * item_size(param.unsharded().dtype());
  }
  return sum;
}

// _get_all_gather_input_metadatas: parameters of several types are gathered as bytes.
DType gathered_dtype(std::span<const FsdpParam> params) {
  const DType first = params.front().unsharded().dtype();
  const bool is_uniform = std::ranges::all_of(
      params, [first](const FsdpParam& param) { return param.unsharded().dtype() == first; });
  return is_uniform ? first : DType::uint8;
}

// Includes the kernel that fills it, if the same operator does that.
Tensor flat_block(Runtime& runtime, const char* op, std::int64_t numel, DType dtype,
                  int kernels = 1) {
  const OpScope scope(runtime, op, kernels);
  Tensor block = eager::empty(runtime, {numel}, dtype);
  runtime.categorize(block, Category::communication);
  return block;
}

std::vector<Tensor> shards_of(std::span<const FsdpParam> params) {
  std::vector<Tensor> shards;
  for (const FsdpParam& param : params) {
    shards.push_back(param.sharded());
  }
  return shards;
}

// _get_param_all_gather_inputs: those that are cast are copied into one block.
Tensor cast_shards(std::span<const FsdpParam> params) {
  std::int64_t numel = 0;
  const FsdpParam* first = nullptr;
  for (const FsdpParam& param : params) {
    if (param.unsharded().dtype() != param.orig_dtype()) {
      numel += param.padded_numel();
      first = first == nullptr ? &param : first;
    }
  }
  if (first == nullptr) {
    return {};
  }
  const Tensor& whole = first->unsharded();
  return flat_block(whole.runtime(), "fsdp::_get_param_all_gather_inputs", numel, whole.dtype());
}

// _get_param_all_gather_inputs without its multi-tensor copy, which works only on the GPU.
std::vector<Tensor> inputs_from_host(std::span<const FsdpParam> params) {
  std::vector<Tensor> inputs;
  for (const FsdpParam& param : params) {
    inputs.push_back(param.all_gather_input());
  }
  return inputs;
}

// Its tables; the copies themselves go into blocks that exist.
void split_with_sizes_copy(std::span<const FsdpParam> params, int ranks) {
  Runtime& runtime = params.front().unsharded().runtime();
  const OpScope op(runtime, "fsdp::split_with_sizes_copy");
  std::vector<std::int64_t> bytes;
  for (const FsdpParam& param : params) {
    bytes.push_back(param.padded_numel() * item_size(param.unsharded().dtype()));
  }
  runtime.allocate(split_copy_tables(runtime.gpu, ranks, bytes));
}

std::int64_t chunk_numel(const Tensor& grad, int ranks) {
  const std::int64_t rows = (grad.size(0) + ranks - 1) / ranks;
  return grad.size(0) == 0 ? 0 : rows * (grad.numel() / grad.size(0));
}

// The kernel copies and widens bf16 to fp32; other conversions take ATen's composite, which pads
// tensors whose rows cannot be split evenly (TensorShape.cpp: _pad_chunk) and concatenates.
void chunk_cat(std::span<const Tensor> grads, const Tensor& out, int ranks) {
  Runtime& runtime = out.runtime();
  const OpScope op(runtime, "fsdp::chunk_cat");
  const eager::RecordedScope record(runtime, "fsdp::chunk_cat", grads);
  const DType from = grads.front().dtype();
  if (from == out.dtype() || (from == DType::bf16 && out.dtype() == DType::fp32)) {
    std::vector<std::int64_t> bytes;
    for (const Tensor& grad : grads) {
      bytes.push_back(chunk_numel(grad, ranks) * item_size(out.dtype()));
    }
    runtime.allocate(chunk_cat_tables(bytes));
    return;
  }
  std::vector<Tensor> padded;
  for (const Tensor& grad : grads) {
    const std::int64_t numel = chunk_numel(grad, ranks) * ranks;
    padded.push_back(numel == grad.numel() ? grad : eager::empty(runtime, {numel}, from));
  }
  for (Tensor& tensor : padded) {
    tensor.reset();
  }
}

// list.clear() releases the last one first, but the preceding loop's variable still holds that one
// (until 2.15, where that loop is a function of its own).
Tensor clear_but_last(std::vector<Tensor>& grads) {
  const bool holds_last = !is_recent_fsdp(grads.front().runtime());
  Tensor last = holds_last ? grads.back() : Tensor{};
  eager::release_list(grads);
  return last;
}

Tensor converted(const Tensor& reduced, DType dtype) {
  return reduced.dtype() == dtype ? reduced : eager::to_dtype(reduced, dtype);
}

void view_out(std::span<FsdpParam* const> params, const Tensor& reduced) {
  reduced.runtime().categorize(reduced, Category::gradient);
  std::int64_t offset = 0;
  for (FsdpParam* param : params) {
    param->accumulate_sharded_grad(reduced, offset);
    offset += param->padded_numel();
  }
}

}  // namespace

Tensor foreach_all_gather(std::vector<FsdpParam>& params, FsdpGroups& groups, StreamId stream) {
  ProcessGroup& group = groups.shard;
  Runtime& runtime = group.runtime();
  const eager::NoGrad no_grad(runtime);
  const OnStream on(runtime, stream);
  const std::vector<Tensor> shards = shards_of(params);
  const eager::RecordedScope record(runtime, "fsdp::all_gather_copy_in", shards);
  const DType dtype = gathered_dtype(params);
  const std::int64_t numel = gathered_bytes(params) / item_size(dtype);
  Tensor flat;
  std::vector<Tensor> inputs;
  if (params.front().is_offloaded()) {
    inputs = inputs_from_host(params);
  } else {
    flat = cast_shards(params);
  }
  Tensor gathered = flat_block(runtime, "fsdp::all_gather_copy_in", numel * group.size(), dtype);
  group.all_gather_into_tensor(gathered, gathered);
  eager::release_list(inputs);
  return gathered;
}

void foreach_all_gather_copy_out(const Tensor& gathered, std::vector<FsdpParam>& params) {
  Runtime& runtime = gathered.runtime();
  const eager::NoGrad no_grad(runtime);
  const eager::RecordedScope record(runtime, "fsdp::split_with_sizes_copy",
                                    std::span(&gathered, 1));
  {
    const OpScope op(runtime, "fsdp::alloc_all_gather_outputs", 0);
    for (FsdpParam& param : params) {
      param.allocate_unsharded();
    }
  }
  const std::int64_t ranks =
      gathered.numel() * item_size(gathered.dtype()) / gathered_bytes(params);
  split_with_sizes_copy(params, static_cast<int>(ranks));
}

ReduceState foreach_reduce(std::span<FsdpParam* const> params, std::vector<Tensor> grads,
                           FsdpGroups& groups, const FsdpStreams& streams,
                           std::optional<DType> reduce_dtype) {
  ProcessGroup& group = groups.shard;
  Runtime& runtime = group.runtime();
  const eager::NoGrad no_grad(runtime);
  const DType dtype = reduce_dtype.value_or(grads.front().dtype());
  std::int64_t numel = 0;
  for (const Tensor& grad : grads) {
    numel += chunk_numel(grad, group.size());
  }
  ReduceState state;
  state.reduce_scatter_input =
      flat_block(runtime, "fsdp::foreach_reduce", numel * group.size(), dtype, 0);
  chunk_cat(grads, state.reduce_scatter_input, group.size());
  Tensor last_grad = clear_but_last(grads);
  Tensor reduced;
  {
    const OnStream on(runtime, streams.reduce_scatter);
    reduced = flat_block(runtime, "fsdp::foreach_reduce", numel, dtype, 0);
    group.reduce_scatter_tensor(reduced, state.reduce_scatter_input);
    if (groups.replicate) {
      const OnStream replicate_on(runtime, streams.all_reduce);
      state.all_reduce = groups.replicate->all_reduce(reduced);
      state.all_reduce_input = reduced;
    }
  }
  const OnStream on(runtime, groups.replicate ? streams.all_reduce : streams.reduce_scatter);
  reduced = converted(reduced, params.front()->orig_dtype());
  view_out(params, reduced);
  eager::end_of_frame(last_grad, reduced);
  return state;
}

}  // namespace highwater::dist
