#include "workloads/deepspeed/engine.hpp"

#include <algorithm>
#include <utility>

#include "workloads/deepspeed/common/tensor_data.hpp"
#include "workloads/deepspeed/distributed_attention.hpp"
#include "workloads/deepspeed/stage_1_and_2.hpp"
#include "workloads/deepspeed/stage_3.hpp"
#include "workloads/deepspeed/ulysses.hpp"
#include "workloads/deepspeed/unpartitioned/whole_optimizer.hpp"
#include "workloads/nn/backward_pass.hpp"
#include "workloads/nn/zero3_linear.hpp"
#include "workloads/optim/parameter_groups.hpp"
#include "workloads/plan/offload.hpp"
#include "workloads/plan/training_plan.hpp"

namespace highwater::deepspeed {

using eager::Tensor;

namespace {

template <class Exchange>
eager::ExchangedAttention around(std::shared_ptr<Exchange> exchange) {
  return [exchange](eager::AttentionOperands in, const eager::AttendHeads& attend) {
    return (*exchange)(std::move(in), attend);
  };
}

eager::ExchangedAttention exchanged_attention(eager::Runtime& runtime,
                                              const Parallelism& parallel) {
  return parallel.cp_kind == ContextParallel::distributed_attention
             ? around(std::make_shared<DistributedAttention>(runtime, parallel))
             : around(std::make_shared<Ulysses>(runtime, parallel));
}

}  // namespace

Engine::Engine(models::LanguageModel& model, const TrainingPlan& plan)
    : model_(model),
      peft_model_(model.context()),
      lora_model_(model.context()),
      plan_(plan),
      group_(model.runtime(), data_group(plan.parallel).ranks, plan.parallel.backend) {
  peft_model_.adopt(lora_model_);
  lora_model_.adopt(model_);
  if (plan.parallel.cp > 1) {
    model.runtime().exchanged_attention = exchanged_attention(model.runtime(), plan.parallel);
  }
  model.runtime().counts_host_memory |=
      plan.parallel.dp_kind == DataParallel::zero3 && plan.parallel.offload != Offload::none;
  PartitionedParameters made;
  if (nn::partitions_as_made(plan)) {
    made = partition_as_made(group_, model, partition_place(plan));
    move_adapters();
  }
  convert_model();
  if (made.empty()) {
    broadcast_model();
  }
  make_overflow_buffer();
  make_optimizer(std::move(made));
}

// peft 0.21, tuners/tuners_utils.py _move_adapter_to_device_of_base_layer: those of a partitioned
// layer follow its device.
void Engine::move_adapters() {
  for (const Tensor& parameter : nn::trainable_parameters(model_)) {
    nn::move_tensor_to_cuda(parameter, Category::parameter);
  }
}

// _configure_distributed_model: module.bfloat16() or half(); 0.19.8 leaves buffers as they are.
// What may have another type are adapters, and norms and embeddings that were prepared for training
// beside quantised weights. Codes in integers stay.
void Engine::convert_model() {
  const DType dtype = model_dtype(plan_.precision);
  if (!is_low_precision(dtype)) {
    return;
  }
  if (!is_recent_deepspeed(plan_.versions)) {
    nn::convert(model_, dtype);
    return;
  }
  for (const auto& parameter : nn::named_parameters(model_)) {
    const DType own = parameter.tensor.dtype();
    if (is_floating_point(own) && own != dtype) {
      const Tensor narrow = optim::make_like("to", parameter.tensor, dtype);
      model_.runtime().categorize(narrow, Category::parameter);
      set_data(parameter.tensor, narrow);
    }
  }
}

// FusedAdam._dummy_overflow_buf.
void Engine::make_overflow_buffer() {
  const bool is_fused_adam = plan_.optimizer.impl == OptimizerImpl::deepspeed;
  if (is_fused_adam && !offloads_optimizer(plan_.parallel)) {
    const eager::OpScope op(model_.runtime(), "tensor");
    overflow_buffer_ = eager::empty(model_.runtime(), {1}, DType::fp32);
    model_.runtime().categorize(overflow_buffer_, Category::optimizer_state);
  }
}

// What zero.Init() has partitioned has one dimension by now; scripts tell norms and biases by their
// names (transformers 5.23 trainer.py get_decay_parameter_names).
DimensionsOf dimensions_before(const PartitionedParameters& made) {
  return [&made](const Tensor& tensor) {
    const auto found = std::ranges::find_if(
        made, [&](const auto& parameter) { return parameter->tensor.get() == tensor.get(); });
    return found == made.end() ? tensor.dim() : (*found)->sizes.size();
  };
}

// _configure_optimizer.
void Engine::make_optimizer(PartitionedParameters made) {
  const std::vector<Tensor> trainable = nn::trainable_parameters(model_);
  const auto groups =
      parameter_groups(trainable, plan_.optimizer.param_groups, dimensions_before(made));
  switch (plan_.parallel.dp_kind) {
    case DataParallel::zero0:
      optimizer_ = make_whole_optimizer(group_, plan_, trainable, groups);
      break;
    case DataParallel::zero3:
      optimizer_ = std::make_unique<Stage3>(group_, plan_.lora.rank > 0 ? peft_model_ : model_,
                                            plan_, groups, std::move(made));
      break;
    default:
      optimizer_ = std::make_unique<Stage1And2>(group_, plan_, groups);
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
  if (plan_.lora.rank == 0) {
    return call_model(std::move(inputs));
  }
  const nn::InModule outer(peft_model_);
  const nn::InModule inner(lora_model_);
  return call_model(std::move(inputs));
}

models::Outputs Engine::call_model(models::Inputs inputs) {
  const nn::InModule scope(model_);
  return model_.forward(std::move(inputs));
}

// _scale_loss_by_gas of 0.16.4; 0.19.8 divides by 1, too.
Tensor Engine::divided(const Tensor& loss) const {
  const auto parts = static_cast<double>(plan_.grad_accum);
  if (is_recent_deepspeed(plan_.versions)) {
    return eager::div(loss, parts);
  }
  return plan_.grad_accum > 1 ? eager::div(eager::to_dtype(loss, DType::fp32), parts) : loss;
}

void Engine::backward(const Tensor& script_loss) {
  Tensor loss = divided(script_loss);
  Tensor mean_loss;
  if (!is_recent_deepspeed(plan_.versions)) {
    mean_loss = optim::make_like("mean", loss);
    losses_ = losses_.defined() ? optim::make_like("add", losses_) : mean_loss;
  }
  const BackwardPass pass = last_if((micro_steps_ + 1) % plan_.grad_accum == 0);
  if (pass == BackwardPass::last && runs_accelerate(plan_.framework)) {
    callers_loss_ = script_loss;
  }
  optimizer_->backward(loss, pass);
  optimizer_->reduce_gradients(pass);
  ++micro_steps_;
  eager::end_of_frame(mean_loss, loss);  // the loss is returned
}

void Engine::step() {
  optimizer_->step();
  global_norm_ = optimizer_->global_norm();
  losses_.reset();
  callers_loss_.reset();
}

}  // namespace highwater::deepspeed
