#include "tools/studies/estimates/compared_estimates.hpp"

#include <algorithm>
#include <functional>
#include <iterator>

#include "tools/studies/estimates/error_summary.hpp"
#include "tools/studies/runs/simulate_run.hpp"
#include "workloads/estimates/terms/estimate_inputs.hpp"
#include "workloads/plan/model/other_model.hpp"
#include "workloads/plan/training_plan.hpp"

namespace highwater {
namespace {

PartSet covered_by(const Estimate& estimate) {
  PartSet parts;
  for (const EstimateTerm& term : estimate.terms) {
    parts |= term.covers;
  }
  return parts;
}

std::optional<double> error_of(double estimate, Bytes simulated) {
  return simulated == Bytes{} ? std::nullopt : std::optional(relative_error(estimate, simulated));
}

/// Parts that are not tensors have no lifetime in the trace; they count with their size at the
/// peak.
constexpr PartSet kOutsideTensors{MemoryPart::rounding,      MemoryPart::split_tails,
                                  MemoryPart::segment_slack, MemoryPart::isolation,
                                  MemoryPart::later_growth,  MemoryPart::outside};

/// For each form the most of what it covers, each at its own moment.
std::vector<Bytes> covered_bytes(const std::vector<FormulaOutcome>& outcomes,
                                 const Simulation& simulation) {
  std::vector<PartSet> sets;
  for (const FormulaOutcome& outcome : outcomes) {
    sets.push_back(covered_by(outcome.estimate));
  }
  const std::size_t events =
      simulation.failure ? simulation.failure->event() : simulation.trace->events.size();
  std::vector<Bytes> covered = highest_of(*simulation.trace, events, sets);
  for (std::size_t i = 0; i < sets.size(); ++i) {
    covered[i] += simulation.parts.of(sets[i] & kOutsideTensors);
  }
  return covered;
}

}  // namespace

std::optional<double> ComparedEstimate::error() const {
  return error_of(bytes(), peak);
}

std::optional<double> ComparedEstimate::error_of_covered() const {
  return error_of(bytes(), covered);
}

Bytes simulated_peak(FormulaScope scope, const Simulation& simulation) {
  return scope == FormulaScope::device ? simulation.parts.total()
                                       : simulation.replay.result.peak.allocated;
}

std::string_view simulated_peak_name(FormulaScope scope) {
  return scope == FormulaScope::device ? "process" : "allocated";
}

EstimateComparison compare_estimates(const Simulation& simulation) {
  if (is_other(simulation.plan.model.config)) {
    return {.is_complete = simulation.fits()};  // closed forms need the sizes of a known family
  }
  std::vector<FormulaOutcome> outcomes = evaluate_all(estimate_inputs(simulation.plan));
  EstimateComparison comparison;
  comparison.is_complete = simulation.fits();
  const auto first_refused = std::stable_partition(outcomes.begin(), outcomes.end(),
                                                   std::mem_fn(&FormulaOutcome::applies));
  comparison.refused.assign(std::make_move_iterator(first_refused),
                            std::make_move_iterator(outcomes.end()));
  outcomes.erase(first_refused, outcomes.end());
  const std::vector<Bytes> covered = covered_bytes(outcomes, simulation);
  for (std::size_t i = 0; i < outcomes.size(); ++i) {
    FormulaOutcome& outcome = outcomes[i];
    ComparedEstimate& compared = comparison.compared.emplace_back();
    compared.peak = simulated_peak(outcome.formula->scope, simulation);
    compared.covered = covered[i];
    compared.reconciliation = reconcile(outcome.estimate, simulation.parts);
    compared.outcome = std::move(outcome);
  }
  return comparison;
}

}  // namespace highwater
