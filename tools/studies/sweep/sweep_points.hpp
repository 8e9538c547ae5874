// Replays points of a sweep.
#pragma once

#include <cstdint>
#include <vector>

#include "tools/studies/sweep/sweep_run.hpp"

namespace highwater {

class SweepPoints {
 public:
  /// All of them must outlive the points. `sweep` has its workload and base.
  SweepPoints(const Sweep& sweep, const SweepGrid& grid, const PlanMaker& make_plan);

  /// @throws UsageError for a value that an option refuses
  void check_values() const;

  /// All runs of a piece, in input order. On any thread.
  [[nodiscard]] std::vector<SweepRun> runs_of(std::uint64_t piece) const;

 private:
  [[nodiscard]] SweepPoint at(std::uint64_t point, const Workload& workload) const;
  [[nodiscard]] bool has_plan_axis() const;
  [[nodiscard]] SweepPoint origin_of(const Workload& workload) const;
  void apply_choice(std::uint64_t point, SweepPoint& result) const;
  [[nodiscard]] SweepRun run_at(std::uint64_t point, const Workload& workload) const;

  const Sweep* sweep_;
  const SweepGrid* grid_;
  mutable PlanCache plans_;
};

/// Whether its peaks can be told by phase.
bool knows_phases(const Workload& workload);

/// Where the peak lies, and how far activations went. @pre the workload knows its phases
void tell_peak(const Workload& workload, const MomentObserver& moments, SweepRun& run);

}  // namespace highwater
