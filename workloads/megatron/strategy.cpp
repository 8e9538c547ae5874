#include "workloads/megatron/strategy.hpp"

#include <utility>

#include "workloads/megatron/gpt_model.hpp"
#include "workloads/nn/backward_pass.hpp"
#include "workloads/plan/model/megatron_config.hpp"
#include "workloads/plan/training_plan.hpp"

namespace highwater::megatron {

namespace {

// SelfAttention's rows on one rank: a group has the queries of one key and value head.
QkvSplit qkv_split(const TrainingPlan& plan) {
  const auto config = config_of(plan.model.config);
  const std::int64_t each = config->head_dim;
  return {.groups = config->kv_heads / plan.parallel.tp,
          .rows = {config->heads / config->kv_heads * each, each, each}};
}

Muon muon_of(const TrainingPlan& plan, dist::ProcessGroup& tp_ranks) {
  const Megatron& options = plan.parallel.megatron;
  return {.orthogonalizer = {.ranks = tp_ranks, .mode = options.muon_tp},
          .split = options.muon_split_qkv ? std::optional(qkv_split(plan)) : std::nullopt,
          .has_nesterov = options.muon_nesterov};
}

std::vector<nn::NamedTensor> first_buffer(nn::Module& model, const TrainingPlan& plan) {
  auto dense = dense_parameters(model, plan.parallel);
  return is_layer_wise(plan) ? others_of(dense) : dense;
}

}  // namespace

MegatronStrategy::MegatronStrategy(models::LanguageModel& model, const TrainingPlan& plan)
    : model_(model),
      plan_(plan),
      tp_group_(model.runtime(), plan.parallel.tp, plan.parallel.backend),
      ddp_(first_buffer(model, plan), plan.parallel, data_group(plan.parallel),
           shared_embedding(first_buffer(model, plan), plan)) {
  const Parallelism& parallel = plan.parallel;
  if (is_layer_wise(plan)) {
    matrix_ddp_.emplace(matrices_of(dense_parameters(model, parallel)), parallel,
                        data_group(parallel), std::nullopt, Shards::parameters);
  }
  // The stage of an embedding or a head alone has none.
  if (auto experts = expert_parameters(model, parallel); parallel.ep > 1 && !experts.empty()) {
    expert_ddp_.emplace(std::move(experts), parallel, expert_data_group(parallel), std::nullopt,
                        is_layer_wise(plan) ? Shards::parameters : Shards::bytes);
  }
  if (plan.optimizer.kind == OptimizerKind::muon) {
    make_muon();
    return;
  }
  optimizer_.emplace(ddp_, plan.precision);
  if (expert_ddp_) {
    expert_optimizer_.emplace(*expert_ddp_, plan.precision);
  }
}

// _get_megatron_emerging_optimizer: a chain of Muon, that of spread experts and Adam.
// LayerWiseDistributedOptimizer is made after Adam's DistributedOptimizer, and has the experts
// itself.
void MegatronStrategy::make_muon() {
  const auto make_adam = [this] { optimizer_.emplace(ddp_, plan_.precision, Managed::others); };
  if (matrix_ddp_) {
    make_adam();
  }
  muon_.emplace(matrix_ddp_ ? *matrix_ddp_ : ddp_, plan_.precision, Managed::matrices,
                muon_of(plan_, tp_group_));
  if (expert_ddp_) {
    expert_muon_.emplace(*expert_ddp_, plan_.precision,
                         matrix_ddp_ ? Managed::more_matrices : Managed::matrices,
                         muon_of(plan_, tp_group_));
  }
  if (!optimizer_) {
    make_adam();
  }
}

void MegatronStrategy::for_each_buffer(void (DistributedDataParallel::*call)()) {
  (ddp_.*call)();
  for (auto* more : {&matrix_ddp_, &expert_ddp_}) {
    if (*more) {
      ((**more).*call)();
    }
  }
}

void MegatronStrategy::for_each_optimizer(void (MixedPrecisionOptimizer::*call)()) {
  for (auto* optimizer : {&muon_, &expert_muon_, &optimizer_, &expert_optimizer_}) {
    if (*optimizer) {
      ((**optimizer).*call)();
    }
  }
}

// One for each micro-batch in each model chunk.
int MegatronStrategy::backwards_per_step() const {
  return plan_.grad_accum * model_chunks(plan_.parallel);
}

void MegatronStrategy::backward_stage(const Tensor& output, const Tensor& gradient) {
  const BackwardPass pass = last_if(backwards_ + 1 == backwards_per_step());
  ddp_.expect(pass);
  for (auto* more : {&matrix_ddp_, &expert_ddp_}) {
    if (*more) {
      (*more)->expect(pass);
    }
  }
  if (gradient.defined()) {
    eager::backward(output, gradient);
  } else {
    const Tensor scaled = optimizer_->scale(output);  // outlives the gradient of ones
    eager::backward(scaled);
  }
  if (++backwards_ == backwards_per_step()) {
    finalize_gradients();
  }
}

// finalize_model_grads: the data-parallel sums, then those over the sequence's parts
// (_allreduce_non_tensor_model_parallel_grads), flattened into one block.
void MegatronStrategy::finalize_gradients() {
  for_each_buffer(&DistributedDataParallel::finish_grad_sync);
  if (!plan_.parallel.sequence_parallel) {
    return;
  }
  std::vector<Tensor> partial;
  for (std::size_t i = 0; i < ddp_.named().size(); ++i) {
    if (has_partial_gradient(ddp_.named()[i])) {
      partial.push_back(ddp_.gradients(ddp_.layout().params[i]));
    }
  }
  const Tensor flat = eager::cat(partial, 0);
  model_.runtime().categorize(flat, Category::communication);
  tp_group_.all_reduce(flat).wait();
}

void MegatronStrategy::prepare_gradients() {
  if (!std::exchange(is_prepared_, true)) {
    for_each_optimizer(&MixedPrecisionOptimizer::prepare_grads);
  }
}

// ChainedOptimizer.get_grad_norm: one norm of all gradients if the optimizers share their ranks
// (grads_states_parallel_group_is_shared), otherwise one for each.
void MegatronStrategy::clip_gradients() {
  prepare_gradients();
  if (ddp_.is_distributed() || !expert_ddp_) {
    optimizer_->clip_grad_norm();
  } else {
    for_each_optimizer(&MixedPrecisionOptimizer::clip_grad_norm);
  }
}

void MegatronStrategy::step() {
  prepare_gradients();
  for_each_optimizer(&MixedPrecisionOptimizer::step);
}

void MegatronStrategy::zero_grad() {
  backwards_ = 0;
  is_prepared_ = false;
  for_each_buffer(&DistributedDataParallel::zero_grad_buffer);
  for_each_optimizer(&MixedPrecisionOptimizer::zero_grad);
}

}  // namespace highwater::megatron
