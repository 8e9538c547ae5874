#include "workloads/pipelining/wrapped_stages.hpp"
#include "workloads/plan/pipeline/model_split.hpp"
#include "workloads/plan/torchtitan_release.hpp"
#include "workloads/plan/training_plan.hpp"
#include "workloads/strategy/optimizer_targets.hpp"
#include "workloads/strategy/strategy.hpp"
#include "workloads/training/strategy_table.hpp"
#include "workloads/training/torch_strategy.hpp"

namespace highwater {
namespace {

// Stages that DDP, fully_shard or parallelize_module are applied to, one after the other.
bool wraps_stages(const Parallelism& p) {
  return p.pp > 1 && !pipelining::is_naive(p) && p.dp * p.tp > 1;
}

std::unique_ptr<Wrapper> wrap(models::LanguageModel& model, const TrainingPlan& plan,
                              ModelOrder order = ModelOrder::first) {
  return only_row(wrapper_rows(), plan).make(model, plan, order);
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
      model, [&plan](models::LanguageModel& part, ModelOrder order) {
        if (plan.init != ModelInit::device && !shards_meta(plan)) {
          nn::move_to_cuda(part);
        }
        return wrap(part, plan, order);
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
  mark_wide_states(model, plan);
  const StrategyRow& row = only_row(strategy_rows(), plan);
  if (row.make == nullptr) {
    return std::make_unique<TorchStrategy>(model.runtime(), plan, make_wrapper(model, plan));
  }
  return row.make(model, plan);
}

}  // namespace highwater
