// A grid's plans simulated, and every closed form set beside each of them.
//
// Memory is unlimited: a GPU that a plan names decides kernels, not whether the plan fits. So every
// peak is one that the plan asks for, and none that a lack of memory cut off.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "tools/fleet/fleet.hpp"
#include "tools/studies/validation/grid_plans.hpp"
#include "workloads/estimates/terms/formula.hpp"

namespace highwater {

/// A form that applies to a plan, in the figures of ComparedEstimate.
struct GridEstimate {
  const Formula* formula = nullptr;
  double bytes = 0;
  Bytes simulated;  ///< the peak that the form claims to tell: simulated_peak()
  double error = 0;
  Bytes covered;  ///< simulated bytes of the parts that its terms stand for
  std::optional<double> error_of_covered;
};

/// A form that does not apply.
struct GridRefusal {
  const Formula* formula = nullptr;
  std::string reason;
};

struct GridResult {
  GridPoint point;
  Bytes allocated;  ///< peak
  Bytes reserved;   ///< peak
  Bytes process;    ///< peak reserved, and what lies outside the allocator
  std::vector<GridEstimate> estimates;
  std::vector<GridRefusal> refused;

  [[nodiscard]] Bytes simulated(MeasuredFigure figure) const;

  /// simulated / measured - 1; absent where nothing was measured.
  [[nodiscard]] std::optional<double> error_of_simulation() const;

  /// estimate / measured - 1; absent where nothing was measured.
  [[nodiscard]] std::optional<double> error_of(const GridEstimate& estimate) const;

  /// nullptr where the form does not apply.
  [[nodiscard]] const GridEstimate* find(const Formula& formula) const;
};

struct GridRun {
  std::vector<GridResult> results;  ///< in the order of the grid
  std::vector<SkippedPoint> skipped;
};

/// A point is a piece.
GridRun run_grid(GridPlans plans, Fleet& fleet);

}  // namespace highwater
