#include "workloads/deepspeed/engine.hpp"

#include <utility>

#include "workloads/deepspeed/stage_1_and_2.hpp"
#include "workloads/deepspeed/stage_3.hpp"
#include "workloads/optim/parameter_groups.hpp"

namespace highwater::deepspeed {

using eager::Tensor;

Engine::Engine(models::LanguageModel& model, const TrainingPlan& plan)
    : model_(model), plan_(plan), group_(model.runtime(), plan.parallel.dp, plan.parallel.backend) {
  model.runtime().counts_host_memory |=
      plan.parallel.dp_kind == DataParallel::zero3 && plan.parallel.offload != Offload::none;
  PartitionedParameters made;
  if (plan.parallel.zero.init) {
    made = partition_as_made(group_, model, partition_place(plan));
  }
  const DType model_dtype = nn::trainable_parameters(model).front().dtype();
  if (is_low_precision(model_dtype) && !is_recent_deepspeed(plan)) {
    nn::convert(model, model_dtype);  // buffers, which 0.19.8 leaves (_configure_distributed_model)
  }
  if (made.empty()) {
    broadcast_model();
  }
  const auto groups =
      parameter_groups(nn::trainable_parameters(model), plan.optimizer.param_groups);
  if (plan.parallel.dp_kind == DataParallel::zero3) {
    optimizer_ = std::make_unique<Stage3>(group_, model, plan, groups, std::move(made));
  } else {
    optimizer_ = std::make_unique<Stage1And2>(group_, plan, groups);
  }
}

// _broadcast_model: parameter by parameter, no buffers.
void Engine::broadcast_model() {
  for (const auto& parameter : nn::named_parameters(model_)) {
    group_.broadcast(parameter.tensor).wait();
  }
}

models::Outputs Engine::forward(models::Inputs inputs) {
  optimizer_->begin_forward();
  const nn::InModule scope(model_);
  return model_.forward(std::move(inputs));
}

// _scale_loss_by_gas of 0.16.4; 0.19.8 divides by 1, too.
Tensor Engine::divided(const Tensor& loss) const {
  const auto parts = static_cast<double>(plan_.grad_accum);
  if (is_recent_deepspeed(plan_)) {
    return eager::div(loss, parts);
  }
  return plan_.grad_accum > 1 ? eager::div(eager::to_dtype(loss, DType::fp32), parts) : loss;
}

void Engine::backward(const Tensor& script_loss) {
  Tensor loss = divided(script_loss);
  Tensor mean_loss;
  if (!is_recent_deepspeed(plan_)) {
    mean_loss = optim::make_like("mean", loss);
    losses_ = losses_.defined() ? optim::make_like("add", losses_) : mean_loss;
  }
  const bool is_boundary = (micro_steps_ + 1) % plan_.grad_accum == 0;
  optimizer_->backward(loss, is_boundary);
  optimizer_->reduce_gradients(is_boundary);
  ++micro_steps_;
  eager::end_of_frame(mean_loss, loss);  // the loss is returned
}

void Engine::step() {
  optimizer_->step();
  global_norm_ = optimizer_->global_norm();
  losses_.reset();
}

}  // namespace highwater::deepspeed
