#include "workloads/estimates/evaluate.hpp"

namespace highwater {

FormulaOutcome evaluate(const Formula& formula, const EstimateInputs& inputs) {
  FormulaOutcome outcome{.formula = &formula, .refusal = formula.refusal(inputs)};
  if (outcome.applies()) {
    outcome.broken = formula.broken_assumptions(inputs);
    outcome.estimate = formula.evaluate(inputs);
    if (formula.variants != nullptr) {
      outcome.variants = formula.variants(inputs);
    }
  }
  return outcome;
}

std::vector<FormulaOutcome> evaluate_all(const EstimateInputs& inputs) {
  std::vector<FormulaOutcome> outcomes;
  for (const Formula* formula : formulas()) {
    outcomes.push_back(evaluate(*formula, inputs));
  }
  return outcomes;
}

}  // namespace highwater
