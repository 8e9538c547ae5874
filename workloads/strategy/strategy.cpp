#include "workloads/strategy/strategy.hpp"

#include "workloads/dist/colossalai/gemini_strategy.hpp"
#include "workloads/dist/ddp.hpp"
#include "workloads/strategy/torch_strategy.hpp"

namespace highwater {
namespace {

std::unique_ptr<Wrapper> make_wrapper(models::LanguageModel& model, const TrainingPlan& plan) {
  if (plan.parallel.dp > 1) {
    return std::make_unique<dist::DistributedDataParallel>(model, plan.parallel);
  }
  return std::make_unique<BareModel>(model);
}

}  // namespace

std::unique_ptr<Strategy> make_strategy(models::LanguageModel& model, const TrainingPlan& plan) {
  if (plan.framework == Framework::colossalai_gemini) {
    return std::make_unique<dist::GeminiStrategy>(model, plan, Gemini{});
  }
  return std::make_unique<TorchStrategy>(model.runtime(), plan, make_wrapper(model, plan));
}

}  // namespace highwater
