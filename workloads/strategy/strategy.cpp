#include "workloads/strategy/strategy.hpp"

#include "workloads/dist/ddp.hpp"
#include "workloads/dist/fully_sharded_data_parallel.hpp"
#include "workloads/strategy/torch_strategy.hpp"

namespace highwater {
namespace {

std::unique_ptr<Wrapper> make_wrapper(models::LanguageModel& model, const TrainingPlan& plan) {
  if (plan.parallel.dp > 1 && plan.parallel.dp_kind == DataParallel::fsdp1) {
    return std::make_unique<dist::FullyShardedDataParallel>(model, plan.parallel);
  }
  if (plan.parallel.dp > 1) {
    return std::make_unique<dist::DistributedDataParallel>(model, plan.parallel);
  }
  return std::make_unique<BareModel>(model);
}

}  // namespace

std::unique_ptr<Strategy> make_strategy(models::LanguageModel& model, const TrainingPlan& plan) {
  return std::make_unique<TorchStrategy>(model.runtime(), plan, make_wrapper(model, plan));
}

}  // namespace highwater
