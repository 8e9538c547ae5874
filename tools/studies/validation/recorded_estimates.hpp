// Closed forms against what a run on real PyTorch was recorded to take.
#pragma once

#include <vector>

#include "traces/units.hpp"
#include "workloads/estimates/terms/formula.hpp"

namespace highwater {

struct TrainingPlan;

/// The highest values over all steps of a run.
struct RunPeak {
  Bytes allocated;
  Bytes reserved;
};

/// A form that applies to a recorded case. Forms that speak of the device are held against peak
/// reserved and what lies outside the allocator (an estimate: no recording shows it), all others
/// against peak allocated.
struct RecordedEstimate {
  const Formula* formula = nullptr;
  double bytes = 0;
  Bytes recorded;
  Bytes simulated;

  /// estimate / recorded - 1
  [[nodiscard]] double error() const;

  /// simulated / recorded - 1
  [[nodiscard]] double error_of_simulation() const;
};

/// All forms that apply to the plan. @pre both runs completed at least one step
std::vector<RecordedEstimate> recorded_estimates(const TrainingPlan& plan, const RunPeak& recorded,
                                                 const RunPeak& simulated);

}  // namespace highwater
