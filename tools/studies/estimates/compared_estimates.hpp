// Closed forms compared with the simulation of the same plan.
#pragma once

#include <vector>

#include "tools/studies/estimates/reconciliation.hpp"
#include "workloads/estimates/evaluate.hpp"

namespace highwater {

struct Simulation;

/// A form that applies, against what the simulation found.
struct ComparedEstimate {
  FormulaOutcome outcome;
  Bytes peak;     ///< the simulated figure that users compare it with: simulated_peak()
  Bytes covered;  ///< the most that the simulation had of the parts that its terms stand for
  Reconciliation reconciliation;  ///< to the whole process

  [[nodiscard]] double bytes() const { return outcome.estimate.bytes(); }

  /// estimate / peak - 1; absent where nothing was allocated.
  [[nodiscard]] std::optional<double> error() const;

  /// estimate / covered - 1; absent where the simulation has nothing of it. What a form claims to
  /// tell against the same at its own moment, which need not be that of the peak.
  [[nodiscard]] std::optional<double> error_of_covered() const;
};

/// Peak reserved and what lies outside the allocator for forms that speak of the device, peak
/// allocated for all others.
Bytes simulated_peak(FormulaScope scope, const Simulation& simulation);

/// What simulated_peak() is called in reports: "process" or "allocated".
std::string_view simulated_peak_name(FormulaScope scope);

struct EstimateComparison {
  std::vector<ComparedEstimate> compared;
  std::vector<FormulaOutcome> refused;  ///< forms that do not apply
  bool is_complete = true;              ///< false: memory ran out, peaks are those until then
};

EstimateComparison compare_estimates(const Simulation& simulation);

}  // namespace highwater
