#include "workloads/distributed/ddp/reducer.hpp"

#include <array>
#include <utility>

#include "workloads/eager/graph_recorder.hpp"

namespace highwater::dist {

using eager::Tensor;

Reducer::Reducer(ProcessGroup& group, std::vector<Tensor> parameters, ReducerOptions options,
                 std::unique_ptr<CommHook> hook)
    : group_(group),
      runtime_(group.runtime()),
      parameters_(std::move(parameters)),
      options_(options),
      hook_(std::move(hook)) {
  initialize_buckets(first_assignment());
  hook_into_backward();
  if (options_.find_unused) {
    make_used_map();
  }
  if (options_.static_graph) {  // set_static_graph
    make_used_map();
  }
}

// distributed.py: _ddp_init_helper, which reverses the buckets. Their sizes are final if the order
// of gradients is not learned.
BucketAssignment Reducer::first_assignment() const {
  std::vector<std::int64_t> limits{kNoLimit};
  if (looks_for_unused()) {
    limits = {options_.first_bucket_bytes, options_.bucket_bytes};
  }
  const BucketAssignment assignment = assign_buckets(parameters_, limits);
  return {assignment.rbegin(), assignment.rend()};
}

// initialize_local_used_map. The host has its own, which is not pinned.
void Reducer::make_used_map() {
  local_used_map_ =
      eager::empty(runtime_, {static_cast<std::int64_t>(parameters_.size())}, DType::int32);
  runtime_.categorize(local_used_map_, Category::communication);
}

Reducer::~Reducer() {
  for (const auto& node : accumulators_) {
    node->post_hook = nullptr;
  }
}

// The node that accumulates into a leaf is found as the edge of any operator applied to it.
void Reducer::hook_into_backward() {
  const eager::Scoped<bool> grad_mode(runtime_.grad_enabled, true);
  for (std::size_t i = 0; i < parameters_.size(); ++i) {
    accumulators_.push_back(eager::begin_node(runtime_, "", {parameters_[i]})->next_edges[0].node);
    accumulators_.back()->post_hook = [this, i](Tensor&) { on_gradient(i); };
  }
}

void Reducer::initialize_buckets(const BucketAssignment& assignment) {
  const eager::OpScope op(runtime_, "c10d::Reducer::initialize_buckets", 0);
  buckets_.clear();
  locators_.assign(parameters_.size(), {});
  buckets_.reserve(assignment.size());
  for (const auto& variables : assignment) {
    add_bucket(variables);
  }
}

void Reducer::add_bucket(const std::vector<std::size_t>& variables) {
  std::int64_t elements = 0;
  for (const std::size_t variable : variables) {
    elements += parameters_[variable].numel();
  }
  Bucket& bucket = buckets_.emplace_back();
  bucket.gradients = eager::empty(runtime_, {elements}, parameters_[variables.front()].dtype());
  runtime_.categorize(bucket.gradients, options_.gradient_as_bucket_view ? Category::gradient
                                                                         : Category::communication);
  std::int64_t offset = 0;
  for (const std::size_t variable : variables) {
    locators_[variable] = {buckets_.size() - 1, bucket.variables.size()};
    add_view(bucket, variable, offset);
    offset += parameters_[variable].numel();
  }
}

// initialize_bucket_views. A gradient that exists already moves into the new bucket.
void Reducer::add_view(Bucket& bucket, std::size_t variable, std::int64_t offset) {
  const Tensor& parameter = parameters_[variable];
  Tensor view = eager::alias(bucket.gradients);
  view->sizes = parameter.sizes();
  view->strides = parameter.strides();
  view->offset = offset;
  bucket.variables.push_back(variable);
  bucket.views.push_back(view);
  if (options_.gradient_as_bucket_view && parameter->grad.defined()) {
    parameter->grad = view;
  }
}

void Reducer::prepare_for_backward() {
  expects_gradients_ = true;
  next_bucket_ = 0;
  for (Bucket& bucket : buckets_) {
    bucket.pending = bucket.variables.size();
  }
}

// autograd_hook. In the first iteration of a static graph gradients are only counted.
void Reducer::on_gradient(std::size_t variable) {
  if (!expects_gradients_ || is_static_first()) {
    return;
  }
  if (!has_rebuilt_ && !looks_for_unused()) {  // should_rebuild_buckets
    ready_order_.push_back(variable);
  }
  mark_ready(variable);
}

void Reducer::mark_ready(std::size_t variable) {
  copy_into_bucket(variable);
  --buckets_[locators_[variable].bucket].pending;
  all_reduce_ready_buckets();
  if (next_bucket_ == buckets_.size()) {
    if (looks_for_unused()) {
      all_reduce_used_map();
    }
    runtime_.final_callbacks.emplace_back([this] { finalize_backward(); });
  }
}

// mark_variable_ready_dense: without a hook the copy divides by the number of ranks (at::mul_out);
// a hook divides by itself and receives a plain copy.
void Reducer::copy_into_bucket(std::size_t variable) {
  const Bucket& bucket = buckets_[locators_[variable].bucket];
  const Tensor& view = bucket.views[locators_[variable].place];
  Tensor& grad = parameters_[variable]->grad;
  if (!grad.defined()) {
    runtime_.launch(1);  // zero_
    return;
  }
  const bool is_view = grad->storage.get() == view->storage.get();
  if (!hook_) {
    runtime_.launch(1);
  }
  if (is_view) {
    return;
  }
  const std::array operands{grad, view};
  const eager::RecordedScope record(runtime_, hook_ ? "copy_" : "mul_out", operands);
  if (options_.gradient_as_bucket_view) {
    grad = view;
  }
}

// all_reduce_bucket
void Reducer::all_reduce(Bucket& bucket) {
  if (!hook_) {
    bucket.work = group_.all_reduce(bucket.gradients);
    return;
  }
  bucket.hook_work = hook_->run({.index = next_bucket_,
                                 .is_last = next_bucket_ + 1 == buckets_.size(),
                                 .buffer = bucket.gradients,
                                 .gradients = bucket.views});
}

// mark_bucket_ready: buckets are reduced in their order.
void Reducer::all_reduce_ready_buckets() {
  for (; next_bucket_ < buckets_.size() && buckets_[next_bucket_].pending == 0; ++next_bucket_) {
    all_reduce(buckets_[next_bucket_]);
  }
}

// The map is copied to the device through pinned memory of the host.
void Reducer::all_reduce_used_map() {
  local_used_work_ = group_.all_reduce(local_used_map_);
}

// Sums are copied back in place into gradients that are not views.
void Reducer::finalize_backward() {
  const eager::NoGrad no_grad(runtime_);
  expects_gradients_ = false;
  for (Bucket& bucket : buckets_) {
    std::exchange(bucket.work, {}).wait();
    std::exchange(bucket.hook_work, {}).wait();
    if (!options_.gradient_as_bucket_view) {
      const eager::RecordedScope record(runtime_, "copy_", bucket.views);
    }
  }
  if (looks_for_unused() || is_static_first()) {
    std::exchange(local_used_work_, {}).wait();
  }
}

void Reducer::delay_all_reduce() {
  all_reduce_used_map();
  for (std::size_t i = 0; i < parameters_.size(); ++i) {
    copy_into_bucket(i);
  }
  for (Bucket& bucket : buckets_) {
    all_reduce(bucket);
  }
  finalize_backward();
}

void Reducer::rebuild_buckets() {
  if (has_rebuilt_ || ready_order_.empty()) {
    return;
  }
  const eager::NoGrad no_grad(runtime_);
  std::vector<Tensor> ready;
  for (const std::size_t variable : ready_order_) {
    ready.push_back(parameters_[variable]);
  }
  const std::array limits{options_.first_bucket_bytes, options_.bucket_bytes};
  const BucketAssignment assignment = assign_buckets(ready, limits, ready_order_);
  sync_bucket_indices(assignment);
  has_rebuilt_ = true;
  ready_order_.clear();
  initialize_buckets(assignment);
}

// Rank 0's assignment becomes that of all ranks: first the parameters' numbers and the number of
// buckets, then the buckets' sizes, all int32 and read back by the host.
void Reducer::sync_bucket_indices(const BucketAssignment& assignment) {
  const eager::OpScope op(runtime_, "c10d::Reducer::sync_bucket_indices", 0);
  const auto send = [&](std::size_t count) {
    Tensor numbers = eager::empty(runtime_, {static_cast<std::int64_t>(count)}, DType::int32);
    runtime_.categorize(numbers, Category::communication);
    group_.broadcast(numbers).wait();
    runtime_.synchronize();
    return numbers;
  };
  Tensor indices = send(ready_order_.size() + 1);
  Tensor sizes = send(assignment.size());
  sizes.reset();  // C++ destroys locals from the last to the first
  indices.reset();
}

}  // namespace highwater::dist
