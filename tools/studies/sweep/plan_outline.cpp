#include "tools/studies/sweep/plan_outline.hpp"

#include "tools/studies/plan_search/least_memory.hpp"
#include "tools/studies/runs/planned_run.hpp"
#include "tools/studies/runs/simulate_run.hpp"
#include "workloads/plan/model/other_model.hpp"
#include "workloads/plan/training_plan.hpp"

namespace highwater {

std::optional<PlanOutline> outline_of(const PlannedRun& run, const MemoryRequest& memory) {
  if (!has_least_memory(run.plan)) {
    return std::nullopt;
  }
  const Simulation simulation = before_requests(run, memory);
  return PlanOutline{replay_options(simulation), simulation.replay, least_memory(run.plan),
                     static_cast<int>(run.plan.parallel.gpus())};
}

}  // namespace highwater
