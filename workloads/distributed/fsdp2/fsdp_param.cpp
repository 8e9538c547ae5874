#include "workloads/distributed/fsdp2/fsdp_param.hpp"

#include <algorithm>
#include <utility>

#include "workloads/eager/dtensor_spec.hpp"
#include "workloads/eager/host_copies.hpp"
#include "workloads/eager/node.hpp"

namespace highwater::dist {

using eager::Dims;
using eager::Place;
using eager::Runtime;
using eager::Tensor;

namespace {

Dims with_rows(Dims sizes, std::int64_t rows) {
  sizes.front() = rows;
  return sizes;
}

// torch.chunk: all chunks have as many rows as the first one, the last ones fewer or none.
std::int64_t rows_of(std::int64_t rows, ShardPlace place) {
  const std::int64_t each = (rows + place.ranks - 1) / place.ranks;
  return std::clamp<std::int64_t>(rows - each * place.rank, 0, each);
}

}  // namespace

// _init_sharded_param.
FsdpParam::FsdpParam(Tensor param, ShardPlace place, const FsdpPrecision& precision,
                     bool offload_to_cpu)
    : unsharded_(std::move(param)),
      padded_sizes_(with_rows(unsharded_.sizes(), rows_of(unsharded_.size(0), {place.ranks, 0}))),
      sharded_sizes_(with_rows(unsharded_.sizes(), rows_of(unsharded_.size(0), place))),
      ranks_(place.ranks),
      param_dtype_(is_floating_point(unsharded_.dtype()) ? precision.param : std::nullopt),
      reduce_dtype_(precision.reduce),
      offload_to_cpu_(offload_to_cpu) {
  Runtime& runtime = unsharded_.runtime();
  const eager::OpScope op(runtime, "new_zeros");
  Tensor padded = eager::empty_on(runtime, unsharded_.place(), padded_sizes_, unsharded_.dtype());
  if (offload_to_cpu_ && padded.place() == Place::cuda) {
    padded = eager::to_host(padded, false);
    padded = eager::pin_memory(padded);
    is_pinned_ = true;
  }
  place_shard(padded);
}

void FsdpParam::place_shard(const Tensor& block) {
  if (!sharded_.defined()) {
    sharded_ = eager::alias(block);
    sharded_->requires_grad = unsharded_->requires_grad;
    sharded_->is_target = unsharded_->is_target;
  }
  sharded_->storage = block->storage;
  sharded_->sizes = sharded_sizes_;
  sharded_->strides = eager::contiguous_strides(sharded_sizes_);
  block.runtime().categorize(block, Category::parameter);
}

void FsdpParam::drop_original() {
  unsharded_->storage = unsharded_.runtime().allocate(0);
  unsharded_->strides = eager::contiguous_strides(unsharded_.sizes());
  unsharded_->dtype = param_dtype_.value_or(unsharded_.dtype());
  upcast_from_now_on();
}

void FsdpParam::to_empty() {
  Runtime& runtime = unsharded_.runtime();
  const eager::OpScope op(runtime, "empty_like");
  const Place place = offload_to_cpu_ ? Place::host : Place::cuda;
  place_shard(eager::empty_on(runtime, place, sharded_sizes_, sharded_.dtype()));
  is_pinned_ = false;
}

// Those of other ranks than the first that lack rows are copied.
std::vector<Tensor> FsdpParam::padded_shares() const {
  Runtime& runtime = unsharded_.runtime();
  const std::int64_t whole = unsharded_.size(0) / std::max<std::int64_t>(padded_sizes_.front(), 1);
  const std::int64_t lacking = ranks_ - std::max<std::int64_t>(whole, 1);
  if (runtime.joins_equal_blocks) {
    const eager::OpScope op(runtime, "constant_pad_nd", 0);
    return eager::empty_equal(runtime, lacking * eager::element_count(padded_sizes_), lacking,
                              orig_dtype());
  }
  std::vector<Tensor> padded;
  for (std::int64_t i = 0; i < lacking; ++i) {
    const eager::OpScope op(runtime, "constant_pad_nd");
    padded.push_back(eager::empty(runtime, padded_sizes_, orig_dtype()));
  }
  return padded;
}

// Shard._shard_tensor in distributed/tensor/placement_types.py.
Tensor FsdpParam::scattered_share() const {
  Runtime& runtime = unsharded_.runtime();
  const std::vector<Tensor> padded = padded_shares();
  const eager::OpScope op(runtime, "empty_like");
  return eager::empty(runtime, padded_sizes_, orig_dtype());
}

Tensor FsdpParam::full_tensor(ProcessGroup& group) const {
  Runtime& runtime = unsharded_.runtime();
  const eager::NoGrad no_grad(runtime);
  const std::int64_t missing = padded_sizes_.front() - sharded_sizes_.front();
  const Tensor own = missing > 0 ? eager::empty(runtime, padded_sizes_, orig_dtype()) : sharded_;
  Tensor whole;
  {
    const eager::OpScope op(runtime, "_c10d_functional::all_gather_into_tensor");
    whole = eager::empty(runtime, with_rows(padded_sizes_, padded_sizes_.front() * ranks_),
                         orig_dtype());
    runtime.categorize(whole, Category::weight_copy);
  }
  group.all_gather_into_tensor(whole, own);
  return eager::slice(whole, 0, 0, unsharded_.size(0));
}

void FsdpParam::assign(Tensor share) {
  if (offload_to_cpu_) {
    share = eager::to_host(share, false);
  }
  place_shard(share);
  is_pinned_ = false;
}

// Whether the shard lies in a padded block (2.15: same_local_tensor); 2.6 did not look.
bool FsdpParam::is_padded() const {
  constexpr Release kLooks{2, 15};
  const std::int64_t bytes = padded_numel() * item_size(sharded_.dtype());
  return unsharded_.runtime().torch >= kLooks && sharded_->storage->bytes >= bytes;
}

void FsdpParam::reset_sharded_param() {
  const bool pads = sharded_sizes_ != padded_sizes_ && !is_padded();
  if (!pads && (is_pinned_ || !offload_to_cpu_)) {
    return;
  }
  Runtime& runtime = unsharded_.runtime();
  Tensor local = sharded_;
  if (pads) {
    const eager::OpScope op(runtime, "new_zeros");
    local = eager::empty_on(runtime, sharded_.place(), padded_sizes_, sharded_.dtype());
  }
  if (offload_to_cpu_) {
    local = eager::pin_memory(local);
    is_pinned_ = true;
  }
  place_shard(local);
}

// all_gather_inputs: a cast copy takes the place of the fp32 one.
Tensor FsdpParam::all_gather_input() const {
  Runtime& runtime = unsharded_.runtime();
  Tensor data;
  {
    const eager::OpScope op(runtime, "_to_copy", 0);
    data = eager::empty(runtime, {padded_numel()}, orig_dtype());
    runtime.categorize(data, Category::communication);
  }
  const DType dtype = unsharded_.dtype();
  if (dtype != orig_dtype()) {
    data = eager::to_dtype(data, dtype);
    runtime.categorize(data, Category::communication);
  }
  return data;
}

// all_gather_outputs: the parameter is a view into its first elements, padding follows.
void FsdpParam::allocate_unsharded() {
  eager::Storage& storage = *unsharded_->storage;
  if (!storage.has_block) {
    Runtime& runtime = unsharded_.runtime();
    runtime.allocate_block(storage, padded_numel() * ranks_ * item_size(unsharded_.dtype()));
    runtime.categorize(unsharded_, Category::weight_copy);
  }
}

void FsdpParam::free_unsharded() {
  eager::Storage& storage = *unsharded_->storage;
  if (storage.has_block) {
    unsharded_.runtime().free_block(storage);
  }
}

void FsdpParam::to_accumulated_grad_if_needed() {
  upcast_from_now_on();
  if (!reduce_dtype_ || !unsharded_->grad.defined() || unsharded_->grad.dtype() == *reduce_dtype_) {
    return;
  }
  Runtime& runtime = unsharded_.runtime();
  const Tensor grad = std::exchange(unsharded_->grad, {});
  Tensor& kept = is_recent_fsdp(runtime) ? unsharded_->grad : accumulated_grad_;
  kept = eager::to_dtype(grad, *reduce_dtype_);
  runtime.categorize(kept, Category::gradient);
}

void FsdpParam::defer_upcast(bool reduces) {
  if (reduces || unsharded_->grad.defined()) {
    unsharded_->grad_dtype.reset();
  }
}

void FsdpParam::upcast_from_now_on() {
  if (is_recent_fsdp(unsharded_.runtime()) && reduce_dtype_ &&
      item_size(*reduce_dtype_) > item_size(unsharded_.dtype())) {
    unsharded_->grad_dtype = reduce_dtype_;
  }
}

void FsdpParam::accumulate_unsharded_grad_if_needed() {
  if (accumulated_grad_.defined() && unsharded_->grad.defined()) {
    eager::add_(accumulated_grad_, unsharded_->grad);
    unsharded_->grad.reset();
  }
}

Tensor FsdpParam::take_unsharded_grad() {
  Tensor& grad = accumulated_grad_.defined() ? accumulated_grad_ : unsharded_->grad;
  Tensor taken = std::exchange(grad, {});
  // _get_grad_inner_tensor: a DTensor of tensor parallelism gets its parameter's layout first.
  const eager::DTensorSpec* spec = unsharded_->spec;
  if (taken.defined() && spec != nullptr && spec->gradient_moves()) {
    taken = spec->redistribute(taken);
  }
  return taken;
}

// A second gradient is added on the host, which has to wait for the copy.
Tensor FsdpParam::offloaded(Tensor grad) {
  Runtime& runtime = grad.runtime();
  const bool non_blocking = !sharded_->grad.defined();
  Tensor copy = eager::to_host(grad, non_blocking);
  runtime.categorize(copy, Category::gradient);
  if (non_blocking) {
    grad_offload_event_ = runtime.record_event();
  }
  return copy;
}

void FsdpParam::wait_for_grad_offload(StreamId reduce_scatter) {
  if (grad_offload_event_) {
    unsharded_.runtime().synchronize(reduce_scatter, *grad_offload_event_);
    grad_offload_event_.reset();
  }
}

void FsdpParam::accumulate_sharded_grad(const Tensor& flat, std::int64_t offset) {
  Tensor grad = eager::alias(flat);
  grad->sizes = sharded_sizes_;
  grad->strides = eager::contiguous_strides(sharded_sizes_);
  grad->offset = offset;
  if (offload_to_cpu_) {
    grad = offloaded(std::move(grad));
  }
  if (sharded_->grad.defined()) {
    eager::add_(sharded_->grad, grad);
  } else {
    sharded_->grad = std::move(grad);
  }
  if (sharded_->accumulator != nullptr && sharded_->accumulator->post_hook) {
    Tensor shard = sharded_;
    sharded_->accumulator->post_hook(shard);
  }
}

}  // namespace highwater::dist
