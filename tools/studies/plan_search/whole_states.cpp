#include "tools/studies/plan_search/whole_states.hpp"

#include <algorithm>

#include "tools/studies/simulate_run.hpp"
#include "workloads/plan/model/other_model.hpp"

namespace highwater {
namespace {

bool has_the_whole_model(const StrategyResult& result) {
  const Parallelism& p = result.candidate.plan.parallel;
  return p.dp_kind == DataParallel::ddp && p.tp * p.pp * p.cp * p.ep == 1;
}

/// The plan on one GPU, with the batch that needs least.
TrainingPlan smallest_job(TrainingPlan plan) {
  plan.parallel.dp = 1;
  plan.batch = 1;
  plan.grad_accum = 1;
  return plan;
}

Bytes states_of(const TrainingPlan& plan, MemoryRequest memory) {
  memory.capacity.reset();
  return simulate({.plan = smallest_job(plan)}, memory).parts.of(kModelStates);
}

}  // namespace

std::optional<WholeStates> states_above_a_gpu(const StrategySearch& search, MemoryRequest memory) {
  const auto whole = std::ranges::find_if(search.results, has_the_whole_model);
  if (whole == search.results.end() || whole->fits() ||
      is_other(whole->candidate.plan.model.config)) {
    return std::nullopt;
  }
  const WholeStates found{states_of(whole->candidate.plan, std::move(memory)), whole->capacity};
  return found.states > found.capacity ? std::optional(found) : std::nullopt;
}

}  // namespace highwater
