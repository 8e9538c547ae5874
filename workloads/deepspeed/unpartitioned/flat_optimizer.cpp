#include "workloads/deepspeed/unpartitioned/flat_optimizer.hpp"

#include "workloads/deepspeed/common/gradient_scale.hpp"
#include "workloads/deepspeed/common/tensor_data.hpp"
#include "workloads/plan/training_plan.hpp"

namespace highwater::deepspeed {

using eager::Tensor;
using optim::make_like;
using optim::TensorVector;

FlatOptimizer::FlatOptimizer(dist::ProcessGroup& group, const TrainingPlan& plan,
                             std::vector<Tensor> trainable, ParameterGroups groups)
    : WholeOptimizer(group, plan, std::move(trainable), std::move(groups)) {
  const eager::NoGrad no_grad(runtime_);
  for (const auto& parameters : groups_) {
    flatten(parameters);
  }
  ParameterGroups updated;
  for (const Tensor& master : masters_) {
    updated.push_back({master});
  }
  make_optimizer(updated);
  initialize_states(updated);
  for (const Tensor& master : masters_) {
    master->grad.reset();
  }
}

// _flatten_dense_tensors([p.clone().detach() for p in group]); flat.clone().float()
void FlatOptimizer::flatten(const std::vector<Tensor>& parameters) {
  Tensor flat;
  {
    TensorVector clones;
    for (const Tensor& parameter : parameters) {
      clones.push_back(make_like("clone", parameter));
    }
    flat = flatten_dense(clones);
  }
  runtime_.categorize(flat, Category::parameter);
  divide(flat, parameters);
  const Tensor copy = make_like("clone", flat);
  masters_.push_back(make_like("to", copy, DType::fp32));
  masters_.back()->requires_grad = true;
  runtime_.categorize(masters_.back(), Category::optimizer_state);
}

void FlatOptimizer::step() {
  search_overflow();
  TensorVector gradients;  // a local of step
  for (std::size_t i = 0; i < groups_.size(); ++i) {
    gradients.push_back(take_gradients(groups_[i]));
    masters_[i]->grad = gradients[i];
  }
  ask_for_norm();
  optimizer_->step();
  for (const Tensor& master : masters_) {
    master->grad.reset();
  }
}

// The group's gradients in fp32, end to end; those of the model are gone.
Tensor FlatOptimizer::take_gradients(const std::vector<Tensor>& parameters) {
  TensorVector wide;
  for (const Tensor& parameter : parameters) {
    wide.push_back(make_like("to", parameter->grad, DType::fp32));
  }
  Tensor flat = flatten_dense(wide);
  wide.clear();
  runtime_.categorize(flat, Category::gradient);
  for (const Tensor& parameter : parameters) {
    parameter->grad.reset();
  }
  return flat;
}

// get_flattened_grad_norm: the host adds the norms of the groups.
void FlatOptimizer::ask_for_norm() {
  Tensor norm;
  for (const Tensor& master : masters_) {
    norm = optim::vector_norm(master->grad, {}, eager::KeepDim::no);
    runtime_.synchronize();
  }
  const Tensor total_norm_cuda = number_on_gpu(runtime_, DType::fp32);
  runtime_.synchronize();
}

}  // namespace highwater::deepspeed
