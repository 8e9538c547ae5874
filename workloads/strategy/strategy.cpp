#include "workloads/strategy/strategy.hpp"

#include "workloads/dist/colossalai/gemini_strategy.hpp"
#include "workloads/dist/ddp.hpp"
#include "workloads/dist/deepspeed/engine.hpp"
#include "workloads/dist/fsdp_tensor_parallel.hpp"
#include "workloads/dist/fully_shard.hpp"
#include "workloads/dist/fully_sharded_data_parallel.hpp"
#include "workloads/megatron/nemo_strategy.hpp"
#include "workloads/megatron/strategy.hpp"
#include "workloads/strategy/torch_strategy.hpp"

namespace highwater {
namespace {

std::unique_ptr<Wrapper> make_wrapper(models::LanguageModel& model, const TrainingPlan& plan) {
  if (plan.parallel.tp > 1 && is_fsdp2(plan.parallel)) {
    return std::make_unique<dist::FsdpTensorParallel>(model, plan);
  }
  if (plan.parallel.tp > 1) {
    return std::make_unique<dist::TensorParallel>(model, plan);
  }
  if (is_fsdp2(plan.parallel)) {
    return std::make_unique<dist::FullyShard>(model, plan.parallel);
  }
  if (is_fsdp1(plan.parallel)) {
    return std::make_unique<dist::FullyShardedDataParallel>(model, plan.parallel);
  }
  if (plan.parallel.dp > 1) {
    return std::make_unique<dist::DistributedDataParallel>(model, plan.parallel);
  }
  return std::make_unique<BareModel>(model);
}

}  // namespace

bool brings_model_to_device(const TrainingPlan& plan) {
  const bool wraps_meta = plan.parallel.tp > 1 || is_fsdp2(plan.parallel);
  return wraps_meta && plan.init == ModelInit::meta;
}

std::unique_ptr<Strategy> make_strategy(models::LanguageModel& model, const TrainingPlan& plan) {
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
