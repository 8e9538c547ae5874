// Evaluates closed forms for one plan: which apply, which assumptions the plan breaks, and their
// results.
#pragma once

#include <string>
#include <vector>

#include "workloads/estimates/terms/formula.hpp"

namespace highwater {

struct FormulaOutcome {
  const Formula* formula = nullptr;
  std::string refusal;              ///< why it does not apply; then the rest is empty
  std::vector<std::string> broken;  ///< assumptions that the plan breaks
  Estimate estimate;
  std::vector<FormulaVariant> variants;

  [[nodiscard]] bool applies() const { return refusal.empty(); }
};

FormulaOutcome evaluate(const Formula& formula, const EstimateInputs& inputs);

/// All formulas, in their order.
std::vector<FormulaOutcome> evaluate_all(const EstimateInputs& inputs);

}  // namespace highwater
