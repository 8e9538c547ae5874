#include "workloads/estimates/evaluate.hpp"

#include "workloads/estimates/terms/estimate_inputs.hpp"
#include "workloads/plan/model/other_model.hpp"
#include "workloads/plan/training_plan.hpp"

namespace highwater {
namespace {

/// Parameters alone are enough for model states.
std::string refusal_of(const Formula& formula, const EstimateInputs& inputs) {
  if (lists_parameters(inputs.plan.model.config) && formula.scope != FormulaScope::model_states) {
    return "it needs the sizes of layers, and the model is a list of parameters";
  }
  return formula.refusal(inputs);
}

}  // namespace

FormulaOutcome evaluate(const Formula& formula, const EstimateInputs& inputs) {
  FormulaOutcome outcome{.formula = &formula, .refusal = refusal_of(formula, inputs)};
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
