#include "tools/reports/simulate/plan_cures.hpp"

#include "tools/reports/simulate/simulate_sentences.hpp"
#include "tools/studies/plan_search/remedies.hpp"
#include "tools/studies/runs/planned_run.hpp"
#include "tools/studies/runs/simulate_run.hpp"

namespace highwater {

std::vector<std::string> plan_cures(const WorkloadRequest& request, const Workload& workload) {
  const bool can_change = workload.is_plan() && request.plan && request.edits.empty();
  return can_change && !workload.simulation->fits()
             ? remedy_lines(
                   find_remedies(question_about(request.plan->words, *workload.simulation,
                                                request.memory, {}, request.plan->sources)))
             : std::vector<std::string>();
}

}  // namespace highwater
