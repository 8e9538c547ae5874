#include "workloads/strategy/strategy.hpp"

#include "workloads/dist/ddp.hpp"
#include "workloads/dist/deepspeed/engine.hpp"
#include "workloads/strategy/torch_strategy.hpp"

namespace highwater {
namespace {

bool is_deepspeed(const Parallelism& parallel) {
  const DataParallel kind = parallel.dp_kind;
  const bool is_zero =
      kind == DataParallel::zero1 || kind == DataParallel::zero2 || kind == DataParallel::zero3;
  return is_zero && parallel.dp > 1;
}

std::unique_ptr<Wrapper> make_wrapper(models::LanguageModel& model, const TrainingPlan& plan) {
  if (plan.parallel.dp > 1) {
    return std::make_unique<dist::DistributedDataParallel>(model, plan.parallel);
  }
  return std::make_unique<BareModel>(model);
}

}  // namespace

std::unique_ptr<Strategy> make_strategy(models::LanguageModel& model, const TrainingPlan& plan) {
  if (is_deepspeed(plan.parallel)) {
    return std::make_unique<deepspeed::Engine>(model, plan);
  }
  return std::make_unique<TorchStrategy>(model.runtime(), plan, make_wrapper(model, plan));
}

}  // namespace highwater
