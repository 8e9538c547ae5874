#include "workloads/training/torch_strategy.hpp"

#include "workloads/nn/backward_pass.hpp"
#include "workloads/optim/parameter_groups.hpp"
#include "workloads/plan/training_plan.hpp"

namespace highwater {
namespace {

using eager::Tensor;

bool scales_gradients(const TrainingPlan& plan) {
  return plan.precision == Precision::amp_fp16 && plan.optimizer.kind != OptimizerKind::none;
}

// LOMO and AdaLomo are given the model, whose parameters are one group.
int group_count(const Optimizer& optimizer) {
  return updates_by_hooks(optimizer.kind) ? 1 : optimizer.param_groups;
}

// transformers 5.24, training_args.py: weight_decay=0.0, so that the first of Trainer's two groups
// decays as little as the second: as one group does.
Optimizer optimizer_of(const TrainingPlan& plan) {
  Optimizer optimizer = plan.optimizer;
  if (runs_trainer(plan.framework)) {
    optimizer.param_groups = 1;
  }
  return optimizer;
}

dist::ParameterGroups groups_of(const TrainingPlan& plan, const Wrapper& wrapper) {
  return wrapper.parameter_groups(group_count(plan.optimizer));
}

std::optional<dist::ZeroRedundancy> redundancy_of(const TrainingPlan& plan,
                                                  const Wrapper& wrapper) {
  const Parallelism& p = plan.parallel;
  if (!spreads_states(p.ddp)) {
    return std::nullopt;
  }
  return dist::ZeroRedundancy(groups_of(plan, wrapper), data_group(p), p.ddp.zero_redundancy);
}

}  // namespace

TorchStrategy::TorchStrategy(eager::Runtime& runtime, const TrainingPlan& plan,
                             std::unique_ptr<Wrapper> wrapper)
    : runtime_(runtime),
      plan_(plan),
      wrapper_(std::move(wrapper)),
      redundancy_(redundancy_of(plan, *wrapper_)),
      optimizer_(runtime, optimizer_of(plan),
                 redundancy_ ? redundancy_->own_groups() : groups_of(plan, *wrapper_),
                 wrapper_->resharding()) {
  if (redundancy_) {
    redundancy_->move_to_buckets();
  }
  if (scales_gradients(plan)) {
    scaler_.emplace(runtime, [this](const Tensor& found) { wrapper_->share_found_inf(found); });
  }
}

void TorchStrategy::backward(const Tensor& loss) {
  if (updates_by_hooks(plan_.optimizer.kind)) {
    const Tensor scaled = optimizer_.scaled(loss);
    eager::backward(scaled);
    return optimizer_.finish_backward();
  }
  if (!scaler_) {
    return eager::backward(loss);
  }
  const Tensor scaled =
      scaler_->scale(loss);  // the caller's temporary outlives the root's gradient
  eager::backward(scaled);
}

void TorchStrategy::backward_chunk(int chunk, BackwardPass pass, const Tensor& output,
                                   const Tensor& gradient) {
  wrapper_->stage_backward(chunk, pass, [&] { backward_stage(output, gradient); });
}

void TorchStrategy::clip_gradients() {
  if (scaler_) {
    scaler_->unscale();
  }
  wrapper_->clip_gradients();
}

// Its parameters are those of the GPU that is traced.
void TorchStrategy::step() {
  const eager::OnDevice place(runtime_, runtime_.traced_device);
  if (scaler_) {
    step_scaled();
  } else {
    optimizer_.step();
  }
  if (redundancy_) {
    wrapper_->broadcast(redundancy_->sent());
  }
}

// ZeroRedundancyOptimizer does not have _step_supports_amp_scaling, even if its optimizer does.
void TorchStrategy::step_scaled() {
  if (redundancy_) {
    scaler_->step_unscaled(optimizer_);
  } else {
    scaler_->step(optimizer_);
  }
  scaler_->update();
}

// The zeroes of whole tensors are written in place.
void TorchStrategy::zero_grad() {
  if (redundancy_) {
    return plan_.set_to_none ? redundancy_->free_gradients() : void();
  }
  optimizer_.zero_grad(plan_.set_to_none ? optim::ZeroGrad::to_none : optim::ZeroGrad::to_zero);
}

}  // namespace highwater
