#include "workloads/deepspeed/unpartitioned/unfused_optimizer.hpp"

#include <utility>

#include "workloads/eager/ops.hpp"
#include "workloads/plan/training_plan.hpp"

namespace highwater::deepspeed {

using eager::Tensor;
using optim::make_like;

UnfusedOptimizer::UnfusedOptimizer(dist::ProcessGroup& group, const TrainingPlan& plan,
                                   std::vector<Tensor> trainable, ParameterGroups groups)
    : WholeOptimizer(group, plan, std::move(trainable), std::move(groups)) {
  const eager::NoGrad no_grad(runtime_);
  make_masters();
  make_optimizer(masters_);
  make_states();
}

void UnfusedOptimizer::make_masters() {
  for (const auto& parameters : groups_) {
    auto& masters = masters_.emplace_back();
    for (const Tensor& parameter : parameters) {
      const Tensor copy = make_like("clone", parameter);
      masters.push_back(make_like("to", copy, DType::fp32));
      masters.back()->requires_grad = true;
      runtime_.categorize(masters.back(), Category::optimizer_state);
    }
  }
}

// initialize_optimizer_states: zeros as gradients of both kinds of parameters.
void UnfusedOptimizer::make_states() {
  for (const auto& parameters : groups_) {
    for (const Tensor& parameter : parameters) {
      parameter->grad = make_like("zeros", parameter);
    }
  }
  initialize_states(masters_);
  drop_gradients();
  drop_wide_gradients();
}

void UnfusedOptimizer::drop_wide_gradients() {
  for (const auto& masters : masters_) {
    for (const Tensor& master : masters) {
      master->grad.reset();
    }
  }
}

void UnfusedOptimizer::step() {
  search_overflow();
  for (std::size_t i = 0; i < groups_.size(); ++i) {
    ask_for_norm(groups_[i]);
    widen_gradients(i);
  }
  optimizer_->step();
  drop_wide_gradients();
  drop_gradients();
}

// get_weight_norm: the squares of all norms are added up in one number.
void UnfusedOptimizer::ask_for_norm(const std::vector<Tensor>& parameters) {
  Tensor total_norm;
  Tensor param_norm;
  for (const Tensor& parameter : parameters) {
    Tensor wide = make_like("to", parameter->grad, DType::fp32);
    Tensor norm = optim::vector_norm(wide, {}, eager::KeepDim::no);
    wide.reset();
    param_norm = std::move(norm);
    const Tensor square = make_like("pow", param_norm);
    total_norm = total_norm.defined() ? total_norm : make_like("add", square);
  }
  runtime_.synchronize();
  const Tensor total_norm_cuda = number_on_gpu(runtime_, DType::fp32);
  runtime_.synchronize();
  total_norm.reset();
}

void UnfusedOptimizer::widen_gradients(std::size_t index) {
  for (std::size_t i = 0; i < groups_[index].size(); ++i) {
    const Tensor gradient = make_like("to", groups_[index][i]->grad, DType::fp32);
    runtime_.categorize(gradient, Category::gradient);
    masters_[index][i]->grad = gradient;
  }
}

}  // namespace highwater::deepspeed
