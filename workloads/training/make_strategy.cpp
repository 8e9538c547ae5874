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
#include "workloads/pipelining/wrapped_stages.hpp"
#include "workloads/plan/context_parallel.hpp"
#include "workloads/plan/pipeline/model_split.hpp"
#include "workloads/plan/tensor_grid.hpp"
#include "workloads/plan/torchtitan_release.hpp"
#include "workloads/strategy/optimizer_targets.hpp"
#include "workloads/strategy/strategy.hpp"
#include "workloads/training/torch_strategy.hpp"

namespace highwater {
namespace {

// Stages that DDP, fully_shard or parallelize_module are applied to, one after the other.
bool wraps_stages(const Parallelism& p) {
  return p.pp > 1 && !pipelining::is_naive(p) && p.dp * p.tp > 1;
}

std::unique_ptr<Wrapper> wrap(models::LanguageModel& model, const TrainingPlan& plan,
                              bool is_first = true) {
  if (is_recent_torchtitan(plan) && applies_fully_shard(plan)) {  // whose tensors are plain ones
    return std::make_unique<dist::FullyShard>(model, plan.parallel, is_first);
  }
  if (splits_over_grid(plan.parallel) || plan.experts == Experts::deepspeed) {
    return std::make_unique<BareModel>(model);
  }
  if (runs_ring_self_attention(plan.parallel)) {
    return std::make_unique<colossalai::SummedGradients>(model, plan.parallel);
  }
  if (plan.parallel.tp > 1 && is_fsdp2(plan.parallel)) {
    return std::make_unique<dist::FsdpTensorParallel>(model, plan, is_first);
  }
  if (plan.parallel.tp > 1) {
    return std::make_unique<dist::TensorParallel>(model, plan, is_first);
  }
  if (applies_fully_shard(plan)) {
    return std::make_unique<dist::FullyShard>(model, plan.parallel, is_first);
  }
  if (is_fsdp1(plan.parallel)) {
    return std::make_unique<dist::FullyShardedDataParallel>(model, plan.parallel);
  }
  if (plan.parallel.dp > 1) {
    return std::make_unique<dist::DistributedDataParallel>(model, plan.parallel);
  }
  if (pipelining::is_naive(plan.parallel)) {
    return std::make_unique<pipelining::SpreadModel>(model);
  }
  return std::make_unique<BareModel>(model);
}

bool shards_meta(const TrainingPlan& plan) {
  const bool wraps_meta = plan.parallel.tp > 1 || applies_fully_shard(plan);
  return wraps_meta && plan.init == ModelInit::meta;
}

// Gemini fills its chunks from wherever the model is; LLMem's scripts move it before.
bool fills_chunks_from_host(const TrainingPlan& plan) {
  return plan.framework == Framework::colossalai_gemini && plan.parallel.tp == 1 &&
         plan.init == ModelInit::cpu;
}

// Both FSDPs move what they are given, unit by unit. The bare loop of the recordings moves its
// model before.
bool shards_host(const TrainingPlan& plan) {
  const bool is_sharded = is_fsdp1(plan.parallel) || is_fsdp2(plan.parallel);
  return is_sharded && plan.parallel.tp == 1 && plan.init == ModelInit::cpu &&
         plan.framework != Framework::torch;
}

std::unique_ptr<Wrapper> make_wrapper(models::LanguageModel& model, const TrainingPlan& plan) {
  if (!wraps_stages(plan.parallel)) {
    return wrap(model, plan);
  }
  return std::make_unique<pipelining::WrappedStages>(
      model, [&plan](models::LanguageModel& part, bool is_first) {
        if (plan.init != ModelInit::device && !shards_meta(plan)) {
          nn::move_to_cuda(part);
        }
        return wrap(part, plan, is_first);
      });
}

}  // namespace

bool brings_model_to_device(const TrainingPlan& plan) {
  const bool is_megatron = plan.model_code == ModelCode::megatron;
  return shards_meta(plan) || shards_host(plan) || fills_chunks_from_host(plan) ||
         (!is_megatron && wraps_stages(plan.parallel));
}

std::unique_ptr<Strategy> make_strategy(models::LanguageModel& model, const TrainingPlan& plan) {
  mark_optimizer_targets(model, plan.optimizer.kind);
  if (plan.framework == Framework::colossalai_gemini) {
    return std::make_unique<dist::GeminiStrategy>(model, plan, plan.parallel.gemini);
  }
  if (plan.framework == Framework::nemo) {
    return std::make_unique<megatron::NemoStrategy>(model, plan);
  }
  if (plan.model_code == ModelCode::megatron) {
    return std::make_unique<megatron::MegatronStrategy>(model, plan);
  }
  if (uses_deepspeed(plan)) {
    return std::make_unique<deepspeed::Engine>(model, plan);
  }
  return std::make_unique<TorchStrategy>(model.runtime(), plan, make_wrapper(model, plan));
}

}  // namespace highwater
