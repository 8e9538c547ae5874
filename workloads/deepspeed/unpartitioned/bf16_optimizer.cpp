#include "workloads/deepspeed/unpartitioned/bf16_optimizer.hpp"

#include "workloads/deepspeed/common/flat_partition.hpp"
#include "workloads/deepspeed/common/gradient_scale.hpp"
#include "workloads/deepspeed/common/tensor_data.hpp"
#include "workloads/nn/backward_pass.hpp"
#include "workloads/plan/training_plan.hpp"

namespace highwater::deepspeed {

using eager::Tensor;
using optim::make_like;
using optim::TensorVector;

namespace {

// align_dense_tensors: zeros behind the last parameter.
Tensor flattened_with_padding(const std::vector<Tensor>& parameters, std::int64_t padded) {
  TensorVector pieces;
  for (const Tensor& parameter : parameters) {
    pieces.push_back(parameter);
    padded -= parameter.numel();
  }
  if (padded > 0) {
    const Tensor& first = parameters.front();
    const eager::OpScope op(first.runtime(), "zeros");
    pieces.push_back(eager::empty(first.runtime(), {padded}, first.dtype()));
  }
  return flatten_dense(pieces);
}

std::vector<std::int64_t> sizes_of(const std::vector<Tensor>& parameters) {
  std::vector<std::int64_t> numels;
  for (const Tensor& parameter : parameters) {
    numels.push_back(parameter.numel());
  }
  return numels;
}

}  // namespace

Bf16Optimizer::Bf16Optimizer(dist::ProcessGroup& group, const TrainingPlan& plan,
                             std::vector<Tensor> trainable, ParameterGroups groups)
    : WholeOptimizer(group, plan, std::move(trainable), std::move(groups)) {
  const eager::NoGrad no_grad(runtime_);
  ParameterGroups updated;
  for (const auto& parameters : groups_) {
    add_group(parameters);
    updated.push_back({masters_.back()});
  }
  make_optimizer(updated);
}

// _setup_for_real_optimizer.
void Bf16Optimizer::add_group(const std::vector<Tensor>& parameters) {
  const FlatPartition partition(sizes_of(parameters), group_.size());
  const Tensor flat = flattened_with_padding(parameters, partition.padded_numel());
  flats_.push_back(flat);
  runtime_.categorize(flat, Category::parameter);
  divide(flat, parameters);
  Tensor copy = make_like("clone", narrow_as(flat, 0, {partition.partition_size()}));
  masters_.push_back(make_like("to", copy, DType::fp32));
  copy.reset();
  masters_.back()->requires_grad = true;
  runtime_.categorize(masters_.back(), Category::optimizer_state);
  gradients_.push_back(make_like("zeros_like", flat, DType::fp32));
  runtime_.categorize(gradients_.back(), Category::gradient);
}

// update_hp_grads: hp_grad.add_(lp.grad.to(hp_grad.dtype))
void Bf16Optimizer::backward(const Tensor& loss, BackwardPass /*pass*/) {
  drop_gradients();
  eager::backward(loss);
  const eager::NoGrad no_grad(runtime_);
  for (const auto& parameters : groups_) {
    for (const Tensor& parameter : parameters) {
      make_like("to", parameter->grad, DType::fp32);
    }
  }
}

void Bf16Optimizer::step() {
  global_norm_ = norm_of_gradients();
  {
    const Tensor is_positive = make_like("gt", global_norm_, DType::boolean);
    runtime_.synchronize();
  }
  if (clips_gradients(plan_.grad_clip, plan_.versions)) {
    clip();
  }
  for (std::size_t i = 0; i < masters_.size(); ++i) {
    masters_[i]->grad = narrow_as(gradients_[i], 0, masters_[i].sizes());
  }
  optimizer_->step();
  gather_parameters();
}

// get_global_norm_of_tensors: a number for each parameter is made once and kept.
Tensor Bf16Optimizer::norm_of_gradients() {
  if (norms_.empty()) {
    for (std::size_t i = 0; i < trainable_.size(); ++i) {
      norms_.push_back(eager::empty(runtime_, {}, DType::fp32));
    }
  }
  for (std::size_t i = 0; i < groups_.size(); ++i) {
    std::int64_t start = 0;
    for (const Tensor& parameter : groups_[i]) {
      Tensor norm = optim::vector_norm(narrow_as(gradients_[i], start, {parameter.numel()}), {},
                                       eager::KeepDim::no);
      const Tensor square = make_like("pow", norm);
      norm.reset();
      start += parameter.numel();
    }
  }
  Tensor total_norm = make_like("pow", norms_.front());
  Tensor infinite = isinf(total_norm);
  Tensor nan = make_like("isnan", total_norm, DType::boolean);
  Tensor inf_or_nan = make_like("logical_or", nan);
  eager::end_of_frame(infinite, nan, inf_or_nan);
  return total_norm;
}

// clip_tensors_by_global_norm: max_norm / (global_norm + eps)
void Bf16Optimizer::clip() {
  Tensor sum = make_like("add", global_norm_);
  Tensor reciprocal = make_like("reciprocal", sum);
  const Tensor clip_coef = make_like("mul", reciprocal);
  reciprocal.reset();
  sum.reset();
  const Tensor is_clipped = make_like("lt", clip_coef, DType::boolean);
  runtime_.synchronize();
}

// all_gather_dp_groups.
void Bf16Optimizer::gather_parameters() {
  for (const Tensor& flat : flats_) {
    group_.all_gather_into_tensor(flat, flat);
  }
}

}  // namespace highwater::deepspeed
