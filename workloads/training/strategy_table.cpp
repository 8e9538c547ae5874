#include "workloads/training/strategy_table.hpp"

#include <array>

#include "workloads/colossalai/gemini_strategy.hpp"
#include "workloads/colossalai/ring/summed_gradients.hpp"
#include "workloads/deepspeed/engine.hpp"
#include "workloads/distributed/ddp/ddp.hpp"
#include "workloads/distributed/fsdp1/fully_sharded_data_parallel.hpp"
#include "workloads/distributed/fsdp2/fsdp_tensor_parallel.hpp"
#include "workloads/distributed/fsdp2/fully_shard.hpp"
#include "workloads/megatron/nemo_strategy.hpp"
#include "workloads/megatron/strategy.hpp"
#include "workloads/pipelining/spread_model.hpp"
#include "workloads/plan/context_parallel.hpp"
#include "workloads/plan/pipeline/model_split.hpp"
#include "workloads/plan/tensor_grid.hpp"
#include "workloads/plan/torchtitan_release.hpp"
#include "workloads/plan/training_plan.hpp"

namespace highwater {
namespace {

// Engines.

bool is_gemini(const TrainingPlan& plan) {
  return plan.framework == Framework::colossalai_gemini;
}

bool is_nemo(const TrainingPlan& plan) {
  return plan.framework == Framework::nemo;
}

bool is_megatron(const TrainingPlan& plan) {
  return plan.model_code == ModelCode::megatron && !is_gemini(plan) && !is_nemo(plan);
}

bool is_deepspeed(const TrainingPlan& plan) {
  return uses_deepspeed(plan) && plan.model_code != ModelCode::megatron && !is_gemini(plan) &&
         !is_nemo(plan);
}

bool is_torch(const TrainingPlan& plan) {
  return plan.model_code != ModelCode::megatron && !uses_deepspeed(plan) && !is_gemini(plan) &&
         !is_nemo(plan);
}

// Wrappers. torchtitan 0.3 shards tensors that are split already, as plain ones.

bool is_sharded_titan(const TrainingPlan& plan) {
  return is_recent_torchtitan(plan) && applies_fully_shard(plan);
}

/// Layers that split themselves, and sum what they must.
bool is_split_by_its_layers(const TrainingPlan& plan) {
  return (splits_over_grid(plan.parallel) || plan.experts == Experts::deepspeed) &&
         !is_sharded_titan(plan);
}

bool is_ring(const TrainingPlan& plan) {
  return runs_ring_self_attention(plan.parallel) && !is_sharded_titan(plan) &&
         !is_split_by_its_layers(plan);
}

bool is_tensor_parallel(const TrainingPlan& plan) {
  return plan.parallel.tp > 1 && !is_sharded_titan(plan) && !is_split_by_its_layers(plan) &&
         !is_ring(plan);
}

bool is_sharded_and_tensor_parallel(const TrainingPlan& plan) {
  return is_tensor_parallel(plan) && is_fsdp2(plan.parallel);
}

bool is_tensor_parallel_alone(const TrainingPlan& plan) {
  return is_tensor_parallel(plan) && !is_fsdp2(plan.parallel);
}

/// Whole layers on each rank.
bool has_whole_layers(const TrainingPlan& plan) {
  return !is_sharded_titan(plan) && !is_split_by_its_layers(plan) && !is_ring(plan) &&
         !is_tensor_parallel(plan);
}

bool is_fully_sharded(const TrainingPlan& plan) {
  return is_sharded_titan(plan) || (has_whole_layers(plan) && applies_fully_shard(plan));
}

bool is_sharded_by_fsdp1(const TrainingPlan& plan) {
  return has_whole_layers(plan) && is_fsdp1(plan.parallel);
}

bool is_replicated(const TrainingPlan& plan) {
  return has_whole_layers(plan) && !applies_fully_shard(plan) && !is_fsdp1(plan.parallel);
}

bool is_data_parallel(const TrainingPlan& plan) {
  return is_replicated(plan) && plan.parallel.dp > 1;
}

bool is_spread(const TrainingPlan& plan) {
  return is_replicated(plan) && plan.parallel.dp <= 1 && pipelining::is_naive(plan.parallel);
}

bool is_bare(const TrainingPlan& plan) {
  return is_split_by_its_layers(plan) ||
         (is_replicated(plan) && plan.parallel.dp <= 1 && !pipelining::is_naive(plan.parallel));
}

}  // namespace

std::span<const StrategyRow> strategy_rows() {
  using Model = models::LanguageModel;
  using Made = std::unique_ptr<Strategy>;
  static constexpr std::array kRows{
      StrategyRow{"Gemini", is_gemini,
                  [](Model& model, const TrainingPlan& plan) -> Made {
                    return std::make_unique<dist::GeminiStrategy>(model, plan,
                                                                  plan.parallel.gemini);
                  }},
      StrategyRow{"NeMo", is_nemo,
                  [](Model& model, const TrainingPlan& plan) -> Made {
                    return std::make_unique<megatron::NemoStrategy>(model, plan);
                  }},
      StrategyRow{"Megatron-Core", is_megatron,
                  [](Model& model, const TrainingPlan& plan) -> Made {
                    return std::make_unique<megatron::MegatronStrategy>(model, plan);
                  }},
      StrategyRow{"DeepSpeed", is_deepspeed,
                  [](Model& model, const TrainingPlan& plan) -> Made {
                    return std::make_unique<deepspeed::Engine>(model, plan);
                  }},
      StrategyRow{"torch.optim", is_torch, nullptr}};
  return kRows;
}

std::span<const WrapperRow> wrapper_rows() {
  using Model = models::LanguageModel;
  using Made = std::unique_ptr<Wrapper>;
  static constexpr std::array kRows{
      WrapperRow{"fully_shard", is_fully_sharded,
                 [](Model& part, const TrainingPlan& plan, ModelOrder order) -> Made {
                   return std::make_unique<dist::FullyShard>(part, plan.parallel, order);
                 }},
      WrapperRow{"fully_shard with tensor parallelism", is_sharded_and_tensor_parallel,
                 [](Model& part, const TrainingPlan& plan, ModelOrder order) -> Made {
                   return std::make_unique<dist::FsdpTensorParallel>(part, plan, order);
                 }},
      WrapperRow{"tensor parallelism", is_tensor_parallel_alone,
                 [](Model& part, const TrainingPlan& plan, ModelOrder order) -> Made {
                   return std::make_unique<dist::TensorParallel>(part, plan, order);
                 }},
      WrapperRow{"ring self-attention", is_ring,
                 [](Model& part, const TrainingPlan& plan, ModelOrder /*order*/) -> Made {
                   return std::make_unique<colossalai::SummedGradients>(part, plan.parallel);
                 }},
      WrapperRow{"FSDP1", is_sharded_by_fsdp1,
                 [](Model& part, const TrainingPlan& plan, ModelOrder /*order*/) -> Made {
                   return std::make_unique<dist::FullyShardedDataParallel>(part, plan.parallel);
                 }},
      WrapperRow{"DDP", is_data_parallel,
                 [](Model& part, const TrainingPlan& plan, ModelOrder /*order*/) -> Made {
                   return std::make_unique<dist::DistributedDataParallel>(part, plan.parallel);
                 }},
      WrapperRow{"layers spread over devices", is_spread,
                 [](Model& part, const TrainingPlan& /*plan*/, ModelOrder /*order*/) -> Made {
                   return std::make_unique<pipelining::SpreadModel>(part);
                 }},
      WrapperRow{"the bare model", is_bare,
                 [](Model& part, const TrainingPlan& /*plan*/, ModelOrder /*order*/) -> Made {
                   return std::make_unique<BareModel>(part);
                 }}};
  return kRows;
}

}  // namespace highwater
