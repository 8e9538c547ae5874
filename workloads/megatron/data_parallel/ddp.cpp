#include "workloads/megatron/data_parallel/ddp.hpp"

#include <algorithm>
#include <utility>

#include "workloads/eager/graph_recorder.hpp"
#include "workloads/megatron/moe/moe_layer.hpp"
#include "workloads/plan/model/megatron_config.hpp"
#include "workloads/plan/training_plan.hpp"

namespace highwater::megatron {
namespace {

std::vector<nn::NamedTensor> trainable(nn::Module& model, bool are_spread,
                                       const Parallelism& plan) {
  std::vector<nn::NamedTensor> found;
  for (nn::NamedTensor& entry : nn::named_parameters(model)) {
    if (entry.tensor.requires_grad() && (plan.ep > 1 && is_expert(entry)) == are_spread) {
      found.push_back(std::move(entry));
    }
  }
  return found;
}

Tensor zeros(eager::Runtime& runtime, std::int64_t elements, DType dtype, Category category) {
  const eager::OpScope op(runtime, "zeros");
  Tensor tensor = eager::empty(runtime, {elements}, dtype);
  runtime.categorize(tensor, category);
  return tensor;
}

std::vector<nn::NamedTensor> chosen(const std::vector<nn::NamedTensor>& named, bool are_targets) {
  std::vector<nn::NamedTensor> found;
  std::ranges::copy_if(named, std::back_inserter(found), [are_targets](const auto& entry) {
    return entry.tensor->is_target == are_targets;
  });
  return found;
}

}  // namespace

bool is_layer_wise(const TrainingPlan& plan) {
  return plan.optimizer.kind == OptimizerKind::muon && plan.parallel.dp_kind == DataParallel::zero1;
}

std::vector<nn::NamedTensor> matrices_of(const std::vector<nn::NamedTensor>& named) {
  return chosen(named, true);
}

std::vector<nn::NamedTensor> others_of(const std::vector<nn::NamedTensor>& named) {
  return chosen(named, false);
}

std::vector<std::int64_t> numels_of(const std::vector<nn::NamedTensor>& named) {
  std::vector<std::int64_t> sizes;
  for (const nn::NamedTensor& entry : named) {
    sizes.push_back(entry.tensor.numel());
  }
  return sizes;
}

std::vector<nn::NamedTensor> dense_parameters(nn::Module& model, const Parallelism& plan) {
  return trainable(model, false, plan);
}

std::vector<nn::NamedTensor> expert_parameters(nn::Module& model, const Parallelism& plan) {
  return trainable(model, true, plan);
}

std::optional<std::size_t> shared_embedding(const std::vector<nn::NamedTensor>& parameters,
                                            const TrainingPlan& plan) {
  const auto config = config_of(plan.model.config);
  if (plan.parallel.pp == 1 || !config || !config->tied) {
    return std::nullopt;
  }
  const auto found = std::ranges::find_if(parameters, [](const nn::NamedTensor& entry) {
    return entry.name.ends_with("word_embeddings.weight") ||
           entry.name.ends_with("output_layer.weight");
  });
  return found == parameters.end() ? std::nullopt
                                   : std::optional<std::size_t>(found - parameters.begin());
}

DistributedDataParallel::DistributedDataParallel(std::vector<nn::NamedTensor> parameters,
                                                 const Parallelism& plan, const GroupPlace& group,
                                                 std::optional<std::size_t> shared_embedding,
                                                 Shards shards)
    : named_(std::move(parameters)),
      group_(named_.front().tensor.runtime(), group.ranks, plan.backend),
      place_(group),
      rules_{.ranks = group.ranks,
             .is_distributed = plan.dp_kind == DataParallel::zero1,
             .bucket_size = bucket_size(plan),
             .shared_embedding = shared_embedding,
             .shards = shards},
      overlaps_(plan.megatron.overlap_grad_reduce),
      layout_(layout_buffer(numels_of(named_), rules_)) {
  eager::Runtime& runtime = group_.runtime();
  const DType dtype = named_.front().tensor.dtype();
  if (rules_.is_distributed) {
    param_data_ = zeros(runtime, layout_.elements, dtype, Category::parameter);
  }
  grad_data_ = zeros(runtime, layout_.elements, plan.megatron.fp32_grads ? DType::fp32 : dtype,
                     Category::gradient);
  if (rules_.is_distributed) {
    move_parameters();
  }
  hook_into_backward();
  is_reduced_.assign(layout_.buckets.size(), false);
  zero_grad_buffer();
}

DistributedDataParallel::~DistributedDataParallel() {
  for (const auto& node : accumulators_) {
    node->post_hook = nullptr;
  }
}

// param.data = a view of the buffer, into which the old values are copied.
void DistributedDataParallel::move_parameters() {
  for (std::size_t i = named_.size(); i-- > 0;) {
    const Tensor& param = named_[i].tensor;
    const auto old = std::exchange(param->storage, param_data_->storage);
    param->offset = layout_.params[i].start;
  }
}

void DistributedDataParallel::hook_into_backward() {
  eager::Runtime& runtime = group_.runtime();
  const eager::Scoped<bool> grad_mode(runtime.grad_enabled, true);
  for (std::size_t i = 0; i < named_.size(); ++i) {
    accumulators_.push_back(eager::begin_node(runtime, "", {named_[i].tensor})->next_edges[0].node);
    accumulators_.back()->post_hook = [this, i](Tensor&) { on_gradient(i); };
  }
}

// _make_backward_post_hook: param.main_grad.add_(param.grad), then param.grad = None.
void DistributedDataParallel::on_gradient(std::size_t param) {
  group_.runtime().launch(1);
  named_[param].tensor->grad.reset();
  if (!overlaps_ || pass_ != BackwardPass::last) {
    return;
  }
  const std::size_t bucket = layout_.bucket[param];
  if (--pending_[bucket] == 0 && !is_first_batch_) {
    reduce(bucket);
  }
}

void DistributedDataParallel::reduce(std::size_t bucket) {
  const Range& range = layout_.buckets[bucket];
  const Tensor whole = view(grad_data_, range);
  works_.push_back(rules_.is_distributed ? group_.reduce_scatter_async(
                                               view(grad_data_, shard_of(range, place_)), whole)
                                         : group_.all_reduce(whole));
  is_reduced_[bucket] = true;
}

void DistributedDataParallel::finish_grad_sync() {
  for (std::size_t bucket = 0; bucket < layout_.buckets.size(); ++bucket) {
    if (!is_reduced_[bucket]) {
      reduce(bucket);
    }
  }
  for (const dist::Work& work : works_) {
    work.wait();
  }
  works_.clear();
}

void DistributedDataParallel::gather_params() {
  for (const Range& bucket : layout_.buckets) {
    group_.all_gather_async(view(param_data_, bucket), view(param_data_, shard_of(bucket, place_)))
        .wait();
  }
}

// Also bucket_group.reset(): after the first step with a backward the order is known.
void DistributedDataParallel::zero_grad_buffer() {
  is_first_batch_ = is_first_batch_ && !is_reduced_.front();
  is_reduced_.assign(layout_.buckets.size(), false);
  pending_.assign(layout_.buckets.size(), 0);
  for (const std::size_t bucket : layout_.bucket) {
    ++pending_[bucket];
  }
}

Tensor DistributedDataParallel::view(const Tensor& data, const Range& range) {
  Tensor part = eager::alias(data);
  part->sizes = {range.size()};
  part->strides = {1};
  part->offset = range.start;
  return part;
}

}  // namespace highwater::megatron
