#include "tools/studies/validation/recorded_estimates.hpp"

#include "tools/studies/estimates/error_summary.hpp"
#include "workloads/estimates/evaluate.hpp"
#include "workloads/estimates/terms/estimate_inputs.hpp"
#include "workloads/plan/training_plan.hpp"
#include "workloads/training/outside_memory.hpp"

namespace highwater {
namespace {

Bytes figure_for(FormulaScope scope, const RunPeak& peak, Bytes outside) {
  return scope == FormulaScope::device ? peak.reserved + outside : peak.allocated;
}

}  // namespace

double RecordedEstimate::error() const {
  return relative_error(bytes, recorded);
}

double RecordedEstimate::error_of_simulation() const {
  return relative_error(static_cast<double>(simulated.count()), recorded);
}

std::vector<RecordedEstimate> recorded_estimates(const TrainingPlan& plan, const RunPeak& recorded,
                                                 const RunPeak& simulated) {
  const Bytes outside = outside_memory(plan.gpu, plan.versions.torch).context;
  std::vector<RecordedEstimate> estimates;
  for (const FormulaOutcome& outcome : evaluate_all(estimate_inputs(plan))) {
    if (outcome.applies()) {
      const FormulaScope scope = outcome.formula->scope;
      estimates.push_back({outcome.formula, outcome.estimate.bytes(),
                           figure_for(scope, recorded, outside),
                           figure_for(scope, simulated, outside)});
    }
  }
  return estimates;
}

}  // namespace highwater
