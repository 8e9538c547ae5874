#include "workloads/deepspeed/unpartitioned/whole_optimizer.hpp"

#include <utility>

#include "workloads/deepspeed/common/gradient_scale.hpp"
#include "workloads/deepspeed/common/tensor_data.hpp"
#include "workloads/deepspeed/unpartitioned/bf16_optimizer.hpp"
#include "workloads/deepspeed/unpartitioned/flat_optimizer.hpp"
#include "workloads/deepspeed/unpartitioned/unfused_optimizer.hpp"
#include "workloads/nn/backward_pass.hpp"
#include "workloads/plan/training_plan.hpp"

namespace highwater::deepspeed {

using eager::Tensor;
using optim::make_like;
using optim::TensorVector;

namespace {

constexpr std::int64_t kElementsOfBucket = 500'000'000;  // MEMORY_OPT_ALLREDUCE_SIZE

}  // namespace

Tensor number_on_gpu(eager::Runtime& runtime, DType dtype) {
  const eager::OpScope op(runtime, "tensor");
  return eager::empty(runtime, {1}, dtype);
}

WholeOptimizer::WholeOptimizer(dist::ProcessGroup& group, const TrainingPlan& plan,
                               std::vector<Tensor> trainable, ParameterGroups groups)
    : group_(group),
      runtime_(group.runtime()),
      plan_(plan),
      trainable_(std::move(trainable)),
      groups_(std::move(groups)) {}

bool WholeOptimizer::is_recent() const {
  return is_recent_deepspeed(plan_.versions);
}

void WholeOptimizer::make_optimizer(const ParameterGroups& updated) {
  optimizer_ = std::make_unique<OptimizerRun>(runtime_, plan_.optimizer, updated);
}

void WholeOptimizer::initialize_states(const ParameterGroups& updated) {
  for (const auto& group : updated) {
    for (const Tensor& parameter : group) {
      parameter->grad = make_like("zeros", parameter);
    }
  }
  optimizer_->step();
}

// FP16_Optimizer.backward, which 0.19.8 no longer calls.
void WholeOptimizer::backward(const Tensor& loss, BackwardPass /*pass*/) {
  const bool scales = !is_recent() && trainable_.front().dtype() == DType::fp16;
  eager::backward(scales ? eager::mul(eager::to_dtype(loss, DType::fp32), 1.0) : loss);
}

// _get_gradients_for_reduction.
std::vector<Tensor> WholeOptimizer::gradients_to_reduce() const {
  std::vector<Tensor> gradients;
  for (const Tensor& parameter : trainable_) {
    gradients.push_back(parameter->grad);
  }
  return gradients;
}

// allreduce_no_retain: a bucket is full once it exceeds the size.
void WholeOptimizer::reduce_gradients(BackwardPass pass) {
  if (pass != BackwardPass::last) {
    return;
  }
  std::vector<Tensor> bucket;
  std::int64_t numel = 0;
  for (const Tensor& gradient : gradients_to_reduce()) {
    bucket.push_back(gradient);
    numel += gradient.numel();
    if (numel > kElementsOfBucket) {
      reduce_bucket(std::exchange(bucket, {}));
      numel = 0;
    }
  }
  if (!bucket.empty()) {
    reduce_bucket(bucket);
  }
}

// allreduce_and_copy: the type of communication is the model's (communication_data_type).
void WholeOptimizer::reduce_bucket(const std::vector<Tensor>& bucket) {
  const Tensor flat = flatten_dense(bucket);
  const DType dtype = trainable_.front().dtype();
  const Tensor sent = flat.dtype() == dtype ? flat : make_like("to", flat, dtype);
  for (const Tensor& buffer : {flat, sent}) {
    if (buffer->storage != bucket.front()->storage) {
      runtime_.categorize(buffer, Category::communication);
    }
  }
  group_.all_reduce(sent).wait();
  runtime_.launch(1 + static_cast<int>(bucket.size()));  // the mean, and the copies back
}

void WholeOptimizer::drop_gradients() {
  for (const auto& group : groups_) {
    for (const Tensor& parameter : group) {
      parameter->grad.reset();
    }
  }
}

// 0.16.4: float(x.float().sum())
void WholeOptimizer::search_overflow() {
  for (const auto& group : groups_) {
    for (const Tensor& parameter : group) {
      if (is_recent()) {
        const Tensor found = has_inf_or_nan(parameter->grad, DeepspeedRelease::v0_19);
        runtime_.synchronize();
      } else {
        Tensor wide = make_like("to", parameter->grad, DType::fp32);
        const Tensor sum = eager::sum(wide, {}, eager::KeepDim::no, DType::fp32);
        wide.reset();
        runtime_.synchronize();
      }
    }
  }
  const Tensor overflow_gpu = number_on_gpu(runtime_, DType::uint8);
  runtime_.synchronize();
}

PlainOptimizer::PlainOptimizer(dist::ProcessGroup& group, const TrainingPlan& plan,
                               std::vector<Tensor> trainable, ParameterGroups groups)
    : WholeOptimizer(group, plan, std::move(trainable), std::move(groups)) {
  make_optimizer(groups_);
}

void PlainOptimizer::step() {
  if (clips_gradients(plan_.grad_clip, plan_.versions)) {
    clip();
  }
  optimizer_->step();
  drop_gradients();
}

// runtime/utils.py: clip_grad_norm_, whose norm is averaged over the ranks.
void PlainOptimizer::clip() {
  TensorVector all_norms;
  for (const Tensor& parameter : trainable_) {
    all_norms.push_back(optim::vector_norm(parameter->grad, {}, eager::KeepDim::no));
  }
  Tensor param_norm = all_norms[all_norms.size() - 1];
  Tensor total_norm = eager::stack({all_norms.begin(), all_norms.end()}, 0);
  total_norm = make_like("pow", total_norm);
  total_norm = eager::sum(total_norm, {}, eager::KeepDim::no, DType::fp32);
  total_norm = make_like("pow", total_norm);
  Tensor scaled_norm = make_like("mul", total_norm);
  scaled_norm = make_like("div", scaled_norm);
  group_.all_reduce(scaled_norm).wait();
  total_norm = scaled_norm;
  Tensor max_norm = number_on_gpu(runtime_, DType::fp32);
  Tensor clip_coef = make_like("add", total_norm);
  clip_coef = make_like("div", max_norm);
  Tensor tmp_tensor = number_on_gpu(runtime_, DType::fp32);
  clip_coef = make_like("min", clip_coef);
  runtime_.launch(static_cast<int>(all_norms.size()));
  max_norm.reset();
  all_norms.clear();
  eager::end_of_frame(param_norm, clip_coef, tmp_tensor, total_norm, scaled_norm);
}

std::unique_ptr<ZeroOptimizer> make_whole_optimizer(dist::ProcessGroup& group,
                                                    const TrainingPlan& plan,
                                                    const std::vector<Tensor>& trainable,
                                                    const ParameterGroups& groups) {
  const DType dtype = trainable.front().dtype();
  if (dtype == DType::fp32) {
    return std::make_unique<PlainOptimizer>(group, plan, trainable, groups);
  }
  if (dtype == DType::bf16 && !is_recent_deepspeed(plan.versions)) {
    return std::make_unique<Bf16Optimizer>(group, plan, trainable, groups);
  }
  if (plan.optimizer.impl == OptimizerImpl::deepspeed) {
    return std::make_unique<FlatOptimizer>(group, plan, trainable, groups);
  }
  return std::make_unique<UnfusedOptimizer>(group, plan, trainable, groups);
}

}  // namespace highwater::deepspeed
