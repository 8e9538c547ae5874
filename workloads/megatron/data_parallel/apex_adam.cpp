#include "workloads/megatron/data_parallel/apex_adam.hpp"

#include <algorithm>
#include <map>
#include <utility>

#include "workloads/plan/parallelism.hpp"

namespace highwater::megatron {
namespace {

constexpr std::string_view kLayers = "decoder.layers.";

// The number after "decoder.layers."; -1 outside layers.
std::int64_t layer_of(const std::string& name) {
  return name.starts_with(kLayers) ? std::stoll(name.substr(kLayers.size())) : -1;
}

std::vector<ApexGroup> sizes_of(const std::vector<nn::NamedTensor>& named,
                                const std::vector<std::vector<std::size_t>>& groups) {
  std::vector<ApexGroup> sizes;
  for (const auto& group : groups) {
    ApexGroup& of_group = sizes.emplace_back();
    for (const std::size_t param : group) {
      of_group.push_back(named[param].tensor.numel());
    }
  }
  return sizes;
}

}  // namespace

std::vector<std::vector<std::size_t>> layer_groups(const std::vector<nn::NamedTensor>& named) {
  std::map<std::int64_t, std::vector<std::size_t>> by_layer;
  std::vector<std::size_t> others;
  for (std::size_t i = 0; i < named.size(); ++i) {
    const std::int64_t layer = layer_of(named[i].name);
    (layer < 0 ? others : by_layer[layer]).push_back(i);
  }
  std::vector<std::vector<std::size_t>> groups;
  for (auto& [layer, params] : by_layer) {
    groups.push_back(std::move(params));
  }
  std::ranges::reverse(groups);
  if (groups.empty()) {
    groups.emplace_back();
  }
  groups.back().insert(groups.back().end(), others.begin(), others.end());
  return groups;
}

ApexDistributedAdam::ApexDistributedAdam(nn::Module& model, const Parallelism& plan)
    : named_(nn::named_parameters(model)),
      groups_(layer_groups(named_)),
      group_(model.runtime(), plan.dp * plan.cp, plan.backend),
      buckets_(lay_out(sizes_of(named_, groups_), plan.apex.bucket_cap_mb, plan.dp * plan.cp)),
      options_(plan.apex),
      param_dtype_(named_.front().tensor.dtype()),
      made_(buckets_.count()) {
  grad_scale_ = make("full", 1, DType::fp32, Category::optimizer_state);
  overflow_ = make("zeros", 1, DType::int32, Category::optimizer_state);
  for (const nn::NamedTensor& entry : named_) {  // _register_post_backward_hooks
    group_.broadcast(entry.tensor).wait();
  }
  hook_into_backward();
  make_states();
  if (options_.contiguous_grads) {
    grad_buffer_ =
        make("zeros", static_cast<std::int64_t>(buckets_.count()) * buckets_.bucket_elements,
             DType::fp32, Category::gradient);
  }
  reset_counts();
}

ApexDistributedAdam::~ApexDistributedAdam() {
  for (const auto& node : accumulators_) {
    node->post_hook = nullptr;
  }
}

Tensor ApexDistributedAdam::make(const char* op, std::int64_t elements, DType dtype,
                                 Category category) const {
  eager::Runtime& runtime = group_.runtime();
  const eager::OpScope scope(runtime, op);
  Tensor tensor = eager::empty(runtime, {elements}, dtype);
  runtime.categorize(tensor, category);
  return tensor;
}

// StateBucket: the bits that fp32 parameters have more than bf16 ones (int16), fp32 parameters if
// the model's are fp16, nothing if they are fp32; then the moments.
std::vector<DType> ApexDistributedAdam::state_dtypes() const {
  std::vector<DType> dtypes{DType::fp32, DType::fp32};
  if (param_dtype_ == DType::bf16 && options_.store_remainders) {
    dtypes.insert(dtypes.begin(), DType::bf16);  // int16: as many bytes
  } else if (param_dtype_ != DType::fp32) {
    dtypes.insert(dtypes.begin(), DType::fp32);
  }
  return dtypes;
}

void ApexDistributedAdam::make_states() {
  for (Bucket& bucket : made_) {
    for (const DType dtype : state_dtypes()) {
      bucket.state.push_back(
          make("zeros", buckets_.shard_elements, dtype, Category::optimizer_state));
    }
  }
}

BucketUse ApexDistributedAdam::bucket_use() const {
  double state_bytes = 0;
  for (const DType dtype : state_dtypes()) {
    state_bytes += static_cast<double>(item_size(dtype));
  }
  const auto gradient_bytes = static_cast<double>(item_size(DType::fp32));
  return megatron::bucket_use(sizes_of(named_, groups_), options_.bucket_cap_mb, group_.size(),
                              gradient_bytes + state_bytes / static_cast<double>(group_.size()));
}

void ApexDistributedAdam::hook_into_backward() {
  eager::Runtime& runtime = group_.runtime();
  const eager::Scoped<bool> grad_mode(runtime.grad_enabled, true);
  for (std::size_t group = 0; group < groups_.size(); ++group) {
    for (const std::size_t param : groups_[group]) {
      accumulators_.push_back(
          eager::begin_node(runtime, "", {named_[param].tensor})->next_edges[0].node);
      accumulators_.back()->post_hook = [this, param, group](Tensor&) {
        on_gradient(param, group);
      };
    }
  }
}

// _grad_copy: buckets that are not part of one buffer are created when their first gradient
// arrives. The group's buckets are treated together, since none is reduced before all are full.
void ApexDistributedAdam::on_gradient(std::size_t param, std::size_t group) {
  for (std::size_t i = buckets_.first_bucket[group]; i < buckets_.first_bucket[group + 1]; ++i) {
    if (!options_.contiguous_grads && !made_[i].grads.defined()) {
      made_[i].grads = make("zeros", buckets_.bucket_elements, DType::fp32, Category::gradient);
    }
  }
  group_.runtime().launch(1);
  named_[param].tensor->grad.reset();
  if (pass_ == BackwardPass::last && --pending_[group] == 0) {
    start_sync(group);
  }
}

// _start_bucket_grad_sync: this rank's shard of the sums is a separate block.
void ApexDistributedAdam::start_sync(std::size_t group) {
  for (std::size_t i = buckets_.first_bucket[group]; i < buckets_.first_bucket[group + 1]; ++i) {
    Bucket& bucket = made_[i];
    bucket.is_synced = true;
    if (group_.size() == 1) {
      continue;
    }
    bucket.grads_shard =
        make("empty", buckets_.shard_elements, DType::fp32, Category::communication);
    const Tensor& whole = options_.contiguous_grads ? grad_buffer_ : bucket.grads;
    group_.reduce_scatter_async(bucket.grads_shard, whole).wait();
    bucket.grads.reset();
  }
}

void ApexDistributedAdam::sync_gradients() {
  for (std::size_t group = 0; group < groups_.size(); ++group) {
    const std::size_t first = buckets_.first_bucket[group];
    if (first < made_.size() && !made_[first].is_synced) {
      start_sync(group);
    }
  }
}

// _local_grad_norm with Apex's multi_tensor_l2norm; the scaling is left to the step.
void ApexDistributedAdam::clip_grad_norm() {
  constexpr std::int64_t kPartialSums = 320;
  Tensor partial = make("multi_tensor_l2norm", kPartialSums, DType::fp32, Category::temporary);
  const Tensor norm = make("multi_tensor_l2norm", 1, DType::fp32, Category::temporary);
  partial.reset();
  group_.all_reduce(norm).wait();
}

// step: a shard of new parameters for every bucket, then bucket by bucket the whole.
void ApexDistributedAdam::step() {
  for (std::size_t i = made_.size(); i-- > 0;) {
    made_[i].params_shard =
        make("empty", buckets_.shard_elements, param_dtype_, Category::communication);
  }
  group_.runtime().launch(1);
  for (std::size_t i = made_.size(); i-- > 0;) {
    Bucket& bucket = made_[i];
    if (group_.size() > 1) {
      const Tensor whole =
          make("empty", buckets_.bucket_elements, param_dtype_, Category::communication);
      group_.all_gather_async(whole, bucket.params_shard).wait();
      bucket.params_shard.reset();
    }
    bucket.params_shard.reset();
  }
}

void ApexDistributedAdam::zero_grad() {
  for (Bucket& bucket : made_) {
    bucket.grads.reset();
    bucket.grads_shard.reset();
    bucket.is_synced = false;
  }
  grad_scale_ = make("full", 1, DType::fp32, Category::optimizer_state);
  overflow_ = make("zeros", 1, DType::int32, Category::optimizer_state);
  reset_counts();
}

void ApexDistributedAdam::reset_counts() {
  pending_.clear();
  for (const auto& group : groups_) {
    pending_.push_back(group.size());
  }
}

}  // namespace highwater::megatron
