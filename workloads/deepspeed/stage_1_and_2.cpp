#include "workloads/deepspeed/stage_1_and_2.hpp"

#include <algorithm>
#include <numeric>
#include <utility>

#include "workloads/deepspeed/common/gradient_scale.hpp"
#include "workloads/deepspeed/common/tensor_data.hpp"
#include "workloads/deepspeed/free_memory.hpp"
#include "workloads/deepspeed/host_memory.hpp"
#include "workloads/nn/backward_pass.hpp"
#include "workloads/plan/training_plan.hpp"

namespace highwater::deepspeed {

using eager::Tensor;
using optim::TensorVector;

namespace {

BucketOptions bucket_options(const Parallelism& parallel) {
  Zero zero = parallel.zero;
  zero.contiguous_gradients |= parallel.offload != Offload::none;  // which it requires
  const bool is_stage_2 = parallel.dp_kind == DataParallel::zero2;
  return {.zero = zero,
          .overlaps = zero.overlaps(is_stage_2 ? 2 : 1),
          .partitions_gradients = is_stage_2,
          .rank = data_group(parallel).rank,
          .reduces_in_fp32 = parallel.cp > 1};
}

// fp32 numbers per parameter.
int states_of(OptimizerKind kind) {
  switch (kind) {
    case OptimizerKind::adam:
    case OptimizerKind::adamw:
      return 2;
    case OptimizerKind::sgd_momentum:
    case OptimizerKind::rmsprop:
    case OptimizerKind::adagrad:
      return 1;
    default:
      return 0;
  }
}

}  // namespace

Stage1And2::Stage1And2(dist::ProcessGroup& group, const TrainingPlan& plan,
                       const std::vector<std::vector<Tensor>>& groups)
    : group_(group),
      runtime_(group.runtime()),
      plan_(plan),
      rank_(data_group(plan.parallel).rank),
      dtype_(groups.front().front().dtype()),
      release_(deepspeed_release(plan.versions)),
      partitions_gradients_(plan.parallel.dp_kind == DataParallel::zero2),
      overlaps_(bucket_options(plan.parallel).overlaps),
      buckets_(group, bucket_options(plan.parallel), dtype_) {
  for (const auto& parameters : groups) {
    add_group(parameters);
  }
  place_parameters();
  if (plan.parallel.offload != Offload::none) {
    make_offload();
  }
  const bool makes_buckets = is_recent() && buckets_.uses_buffer();
  if (partitions_gradients_ || overlaps_ || makes_buckets) {
    hook_into_backward();
  }
  if (!offload_) {
    initialize_states();
  }
}

Stage1And2::~Stage1And2() {
  for (const auto& node : hooked_) {
    node->post_hook = nullptr;
  }
}

void Stage1And2::add_group(const std::vector<Tensor>& parameters) {
  Group group;
  group.parameters = parameters;
  group.flat_order.resize(parameters.size());
  std::iota(group.flat_order.begin(), group.flat_order.end(), 0);
  if (plan_.parallel.zero.round_robin_gradients) {
    group.flat_order = round_robin_order(parameters.size(), group_.size());
  }
  std::vector<std::int64_t> numels;
  for (const std::size_t place : group.flat_order) {
    numels.push_back(parameters[place].numel());
  }
  group.partition = std::make_unique<FlatPartition>(numels, group_.size());
  flatten(group);
  if (plan_.parallel.offload == Offload::none) {
    make_master(group);
  } else if (is_recent()) {
    copy_part_to_host(group);
  }
  groups_.push_back(std::move(group));
}

void Stage1And2::flatten(Group& group) {
  if (is_recent() && has_room_for(group)) {
    flatten_on_gpu(group);
  } else {
    flatten_on_host(group);
  }
  runtime_.categorize(group.flat, Category::parameter);
  for (std::size_t i = 0; i < group.flat_order.size(); ++i) {
    const Tensor& parameter = group.parameters[group.flat_order[i]];
    set_data(parameter, narrow_as(group.flat, group.partition->start(i), parameter.sizes()));
  }
}

// available_memory() >= flat_buffer_bytes, after empty_cache().
bool Stage1And2::has_room_for(const Group& group) const {
  const std::int64_t bytes = group.partition->padded_numel() * item_size(dtype_);
  return !runtime_.room || Bytes{static_cast<std::uint64_t>(bytes)} <= free_memory(runtime_);
}

// flatten_dense_tensors_aligned: zeros behind the last parameter.
void Stage1And2::flatten_on_gpu(Group& group) {
  const eager::NoGrad no_grad(runtime_);
  runtime_.empty_cache();
  TensorVector pieces;
  std::int64_t missing = group.partition->padded_numel();
  for (const std::size_t place : group.flat_order) {
    pieces.push_back(group.parameters[place]);
    missing -= group.parameters[place].numel();
  }
  if (missing > 0) {
    const eager::OpScope op(runtime_, "zeros");
    pieces.push_back(eager::empty(runtime_, {missing}, dtype_));
  }
  group.flat = flatten_dense(pieces);
}

// Parameters move to the host one by one to make room for the flat buffer; each leaves a tensor of
// one fp32 element behind.
void Stage1And2::flatten_on_host(Group& group) {
  for (const Tensor& parameter : group.parameters) {
    const eager::Dims sizes = parameter.sizes();
    const eager::OpScope op(runtime_, "to");
    set_data(parameter, eager::empty(runtime_, {1}, DType::fp32));
    parameter->sizes = sizes;  // of cpu_data
  }
  runtime_.empty_cache();
  const eager::OpScope op(runtime_, "deepspeed::flatten");
  group.flat = eager::empty(runtime_, {group.partition->padded_numel()}, dtype_);
}

// 0.19.8: .detach().clone().to("cpu"); 0.16.4 clones on the host.
void Stage1And2::copy_part_to_host(const Group& group) const {
  const std::int64_t size = group.partition->partition_size();
  const eager::NoGrad no_grad(runtime_);
  const Tensor copy = eager::clone(narrow_as(group.flat, rank_ * size, {size}));
  runtime_.synchronize();
}

// partition.clone().float(): the clone is freed once the fp32 tensor exists.
void Stage1And2::make_master(Group& group) {
  const std::int64_t size = group.partition->partition_size();
  const eager::NoGrad no_grad(runtime_);
  const Tensor copy = eager::clone(narrow_as(group.flat, rank_ * size, {size}));
  group.master = eager::to_dtype(copy, DType::fp32);
  group.master->requires_grad = true;
  runtime_.categorize(group.master, Category::optimizer_state);
}

void Stage1And2::place_parameters() {
  std::vector<PlacedParameter> placed;
  for (const Group& group : groups_) {
    std::vector<PlacedParameter> in_group(group.parameters.size());
    for (std::size_t i = 0; i < group.flat_order.size(); ++i) {
      const std::size_t place = group.flat_order[i];
      in_group[place] = {.tensor = group.parameters[place],
                         .partition = group.partition.get(),
                         .index = i,
                         .is_own = group.partition->slice_of(i, rank_).numel > 0};
    }
    parameters_.insert(parameters_.end(), group.parameters.begin(), group.parameters.end());
    std::ranges::move(in_group, std::back_inserter(placed));
  }
  buckets_.set_parameters(std::move(placed));
}

// initialize_optimizer_states: fp32 gradients for a moment; states are created in the first step.
void Stage1And2::initialize_states() {
  std::vector<std::vector<Tensor>> masters;
  for (const Group& group : groups_) {
    const eager::OpScope op(runtime_, "zeros");
    group.master->grad =
        eager::empty(runtime_, {group.partition->partition_size()}, group.master.dtype());
    masters.push_back({group.master});
  }
  for (const Group& group : groups_) {
    group.master->grad.reset();
  }
  optimizer_.emplace(runtime_, plan_.optimizer, masters);
}

// The node that accumulates into a leaf is found as the edge of any operator applied to it.
void Stage1And2::hook_into_backward() {
  const eager::Scoped<bool> grad_mode(runtime_.grad_enabled, true);
  for (std::size_t i = 0; i < parameters_.size(); ++i) {
    hooked_.push_back(eager::begin_node(runtime_, "", {parameters_[i]})->next_edges[0].node);
    hooked_.back()->post_hook = [this, i](Tensor&) { on_gradient(i); };
  }
}

// reduce_ready_partitions_and_remove_grads.
void Stage1And2::on_gradient(std::size_t index) {
  if (is_recent() && !buckets_.are_ready()) {
    buckets_.allocate();
  }
  if (partitions_gradients_ || (overlaps_ && pass_ == BackwardPass::last)) {
    buckets_.add(index);
  }
}

// LossScaler.backward: also of bf16 and fp32, whose scale is 1. scale_if_loss keeps the type.
void Stage1And2::backward(const Tensor& loss, BackwardPass pass) {
  pass_ = pass;
  buckets_.set_pass(pass);
  if (!is_recent()) {
    buckets_.allocate();
  }
  scaled_loss_ = eager::mul(is_recent() ? loss : eager::to_dtype(loss, DType::fp32), 1.0);
  eager::backward(scaled_loss_);
  if (!is_recent()) {
    scaled_loss_.reset();
  }
}

void Stage1And2::reduce_gradients(BackwardPass pass) {
  if (partitions_gradients_ || pass == BackwardPass::last) {
    reduce_all();
  }
  scaled_loss_.reset();
}

void Stage1And2::reduce_all() {
  if (!partitions_gradients_ && !overlaps_) {
    for (std::size_t i = 0; i < parameters_.size(); ++i) {
      if (parameters_[i]->grad.defined()) {
        buckets_.add(i);
      }
    }
  }
  finish_backward();
}

// independent_gradient_partition_epilogue. The new gradients are added to those of earlier
// micro-batches and live until this returns.
void Stage1And2::finish_backward() {
  buckets_.reduce();
  if (overlaps_) {
    runtime_.synchronize();
    buckets_.clear_reduced_gradients();
  }
  TensorVector newest;
  for (Group& group : groups_) {
    if (offload_) {
      continue;  // they are on the host
    }
    if (group.averaged.size() == 0) {
      group.averaged = own_gradients(group);
    } else {
      newest = own_gradients(group);
      runtime_.launch(static_cast<int>(newest.size()));
    }
  }
  buckets_.release();
  for (const Tensor& parameter : parameters_) {
    parameter->grad.reset();
  }
}

// get_flat_partition(return_tensor_list=True): views of the parts that this rank updates, zeros
// for a parameter without gradient and for the padding.
TensorVector Stage1And2::own_gradients(const Group& group) const {
  TensorVector parts;
  std::int64_t missing = group.partition->partition_size();
  for (const std::size_t i : group.partition->parameters_of(rank_)) {
    const Tensor& parameter = group.parameters[group.flat_order[i]];
    const Tensor grad =
        parameter->grad.defined() ? parameter->grad : optim::make_like("zeros_like", parameter);
    const PartitionSlice slice = group.partition->slice_of(i, rank_);
    const bool is_whole = slice.numel == parameter.numel();
    parts.push_back(is_whole ? grad : narrow_as(grad, slice.offset, {slice.numel}));
    missing -= slice.numel;
  }
  if (missing > 0) {
    const eager::OpScope op(runtime_, "zeros");
    parts.push_back(eager::empty(runtime_, {missing}, dtype_));
  }
  return parts;
}

void Stage1And2::make_offload() {
  std::int64_t largest = 0;
  for (const Tensor& parameter : parameters_) {
    largest = std::max(largest, parameter.numel());
  }
  offload_.emplace(runtime_, largest, dtype_, release_);
  buckets_.offload_to(*offload_);
  count_host_memory();
}

void Stage1And2::count_host_memory() {
  std::vector<std::vector<std::int64_t>> groups;
  for (const Group& group : groups_) {
    std::vector<std::int64_t>& numels = groups.emplace_back();
    for (const std::size_t place : group.flat_order) {
      numels.push_back(group.parameters[place].numel());
    }
  }
  const HostOffload offload{.ranks = group_.size(),
                            .rank = rank_,
                            .dtype = dtype_,
                            .pin_memory = pins_memory(plan_.parallel.zero, plan_.versions),
                            .grad_accum = plan_.grad_accum,
                            .states = states_of(plan_.optimizer.kind)};
  for (const HostBuffer& buffer : offloaded_optimizer(groups, offload)) {
    runtime_.host_memory.allocate(
        buffer.bytes, buffer.is_pinned ? HostKind::pinned : HostKind::pageable, buffer.what);
  }
}

// The host's optimizer updates the host's copies. fp32 parts come back one group at a time; 0.19.8
// copies them in 16 bits into the place of the parameters.
void Stage1And2::offloaded_step() {
  if (dtype_ == DType::fp16) {
    group_.all_reduce(offload_->number_to_reduce(DType::uint8)).wait();
    runtime_.synchronize();
  }
  for (std::size_t i = 0; i < groups_.size(); ++i) {
    group_.all_reduce(offload_->number_to_reduce(DType::fp32)).wait();
    runtime_.synchronize();
  }
  if (!is_recent()) {
    for (const Group& group : groups_) {
      const eager::OpScope op(runtime_, "to");
      eager::empty(runtime_, {group.partition->partition_size()}, DType::fp32);
    }
  }
  offload_->reset();
  gather_parameters();
}

void Stage1And2::step() {
  if (offload_) {
    offloaded_step();
    return;
  }
  if (dtype_ == DType::fp16 || (is_recent() && dtype_ == DType::bf16)) {
    check_overflow();
  }
  Tensor norm = norm_of_gradients();
  if (is_recent()) {
    ask_whether_invalid(norm);
  }
  global_norm_ = optim::make_like("div", norm);
  for (Group& group : groups_) {
    update(group, norm);
  }
  gather_parameters();
}

void Stage1And2::gather_parameters() {
  for (const Group& group : groups_) {
    if (group_.size() > 1) {
      group_.all_gather_into_tensor(group.flat, group.flat);
    }
  }
}

// has_overflow_partitioned_grads_serial, reduced over the ranks and read by the host.
void Stage1And2::check_overflow() {
  Tensor overflow;
  {
    const eager::OpScope op(runtime_, "zeros");
    const Tensor invalid_grad_count = eager::empty(runtime_, {1}, DType::fp32);
    for (const Group& group : groups_) {
      for (const Tensor& gradient : group.averaged) {
        has_inf_or_nan(gradient, release_);
      }
    }
    overflow = optim::make_like("to", invalid_grad_count, DType::boolean);
  }
  const Tensor overflow_gpu = optim::make_like("to", overflow, DType::uint8);
  group_.all_reduce(overflow_gpu).wait();
  runtime_.synchronize();
  overflow.reset();
}

Tensor Stage1And2::norm_of_gradients() {
  TensorVector norm_groups;
  for (const Group& group : groups_) {
    const std::size_t count = is_recent()
                                  ? group.partition->parameters_of(rank_).size()  // no zeros
                                  : group.averaged.size();
    norm_groups.push_back(flat_gradient_norm(
        group_, {group.averaged.begin(), group.averaged.begin() + std::ptrdiff_t(count)},
        release_));
  }
  return is_recent() ? combined_norm(norm_groups) : norm_of_groups(norm_groups);
}

void Stage1And2::update(Group& group, const Tensor& norm) {
  Tensor gradient = flatten_dense(group.averaged);
  gradient = eager::to_dtype(gradient, group.master.dtype());
  runtime_.categorize(gradient, Category::gradient);
  group.master->grad = gradient;
  group.averaged.clear();
  if (is_recent()) {
    ask_whether_invalid(norm);
  }
  if (clips_gradients(plan_.grad_clip, plan_.versions)) {
    unscale_and_clip(norm);
  }
  optimizer_->step();
  group.master->grad.reset();
}

}  // namespace highwater::deepspeed
