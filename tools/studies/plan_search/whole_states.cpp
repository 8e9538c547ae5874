#include "tools/studies/plan_search/whole_states.hpp"

#include <algorithm>

#include "tools/studies/runs/simulate_run.hpp"
#include "workloads/plan/model/other_model.hpp"
#include "workloads/plan/training_plan.hpp"

namespace highwater {
namespace {

bool is_full_training(const StrategyResult& result) {
  return result.fits && result.kind == 0 && result.plan.parallel.offload == Offload::none;
}

/// Full training on one GPU, with the batch that needs least and PyTorch's usual optimizer, in
/// whose step all states are there and the peak is.
TrainingPlan smallest_job(TrainingPlan plan) {
  training_kinds().front().apply(plan, strategy_table().front().states);
  plan.parallel.dp = 1;
  plan.batch = 1;
  plan.grad_accum = 1;
  return plan;
}

}  // namespace

std::optional<WholeStates> states_above_a_gpu(const SearchRequest& request,
                                              const StrategySearch& search) {
  if (request.gpus > 1 || is_other(request.run.plan.model.config) || search.results.empty() ||
      std::ranges::any_of(search.results, is_full_training)) {
    return std::nullopt;
  }
  MemoryRequest memory = request.memory;
  memory.capacity.reset();
  const Simulation whole = simulate({.plan = smallest_job(request.run.plan)}, memory);
  const WholeStates found{whole.parts.of(kModelStates), search.results.front().capacity};
  return found.states > found.capacity ? std::optional(found) : std::nullopt;
}

}  // namespace highwater
