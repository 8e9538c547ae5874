#include "tools/compared_estimates.hpp"

namespace highwater {
namespace {

PartSet covered_by(const Estimate& estimate) {
  PartSet parts;
  for (const EstimateTerm& term : estimate.terms) {
    parts |= term.covers;
  }
  return parts;
}

double relative_error(double estimate, Bytes simulated) {
  return estimate / static_cast<double>(simulated.count()) - 1;
}

ComparedEstimate compare(FormulaOutcome outcome, const Simulation& simulation) {
  ComparedEstimate compared;
  compared.peak = simulated_peak(outcome.formula->scope, simulation);
  compared.covered = simulation.parts.of(covered_by(outcome.estimate));
  compared.bridge = bridge(outcome.estimate, simulation.parts);
  compared.outcome = std::move(outcome);
  return compared;
}

}  // namespace

double ComparedEstimate::error() const {
  return relative_error(bytes(), peak);
}

std::optional<double> ComparedEstimate::error_of_covered() const {
  return covered == Bytes{} ? std::nullopt : std::optional(relative_error(bytes(), covered));
}

Bytes simulated_peak(FormulaScope scope, const Simulation& simulation) {
  return scope == FormulaScope::device ? simulation.parts.total()
                                       : simulation.replay.result.peak.allocated;
}

std::string_view simulated_peak_name(FormulaScope scope) {
  return scope == FormulaScope::device ? "process" : "allocated";
}

EstimateComparison compare_estimates(const Simulation& simulation) {
  EstimateComparison comparison;
  for (FormulaOutcome& outcome : evaluate_all(estimate_inputs(simulation.plan))) {
    if (outcome.applies()) {
      comparison.compared.push_back(compare(std::move(outcome), simulation));
    } else {
      comparison.refused.push_back(std::move(outcome));
    }
  }
  return comparison;
}

}  // namespace highwater
