// Replays points of a sweep.
#pragma once

#include <cstdint>
#include <vector>

#include "sim/replay/least_reserved.hpp"
#include "tools/studies/sweep/plan_cache.hpp"
#include "tools/studies/sweep/sweep_bounds.hpp"
#include "tools/studies/sweep/sweep_run.hpp"

namespace highwater {

/// The runs of a piece, and the points that need none.
struct PieceRuns {
  std::vector<SweepRun> runs;
  SweepCounts ruled_out;
};

class SweepPoints {
 public:
  /// All of them must outlive the points. `sweep` has its workload and base.
  SweepPoints(const Sweep& sweep, const SweepGrid& grid, const PlanMaker& make_plan,
              const PlanOutliner& outline);

  /// @throws UsageError for a value that an option refuses
  void check_values() const;

  /// Points that are likely to be among the best, by their bounds and then in input order; of many
  /// points a sample.
  [[nodiscard]] std::vector<std::uint64_t> promising(std::size_t most) const;

  /// On any thread.
  [[nodiscard]] SweepRun run_of(std::uint64_t point) const;

  /// All runs of a piece but those that `bar` has or rules out, in input order. On any thread.
  [[nodiscard]] PieceRuns runs_of(std::uint64_t piece, const SweepBar& bar) const;

 private:
  [[nodiscard]] SweepPoint at(std::uint64_t point, const Workload& workload) const;
  [[nodiscard]] bool has_plan_axis() const;
  [[nodiscard]] bool sweeps_limits() const;
  [[nodiscard]] std::shared_ptr<const SweptPlan> plan_at(std::uint64_t point) const;
  [[nodiscard]] std::optional<PlanOutline> outline_at(std::uint64_t point) const;
  [[nodiscard]] PointBound bound_at(std::uint64_t point, const SweptPlan* plan) const;
  [[nodiscard]] PointBound bound_at(std::uint64_t point, const PlanOutline& outline) const;
  [[nodiscard]] SweepRun run_of(std::uint64_t point, const SweptPlan* plan) const;
  [[nodiscard]] SweepPoint chosen(std::uint64_t point, SweepPoint origin) const;
  [[nodiscard]] SweepPoint origin_of(const Workload& workload) const;
  void apply_choice(std::uint64_t point, SweepPoint& result) const;
  [[nodiscard]] SweepRun run_at(std::uint64_t point, const Workload& workload) const;

  const Sweep* sweep_;
  const SweepGrid* grid_;
  const PlanOutliner* outline_;
  mutable PlanCache plans_;
  mutable LeastReserved least_;  ///< of the workload's own requests
};

/// Whether its peaks can be told by phase.
bool knows_phases(const Workload& workload);

/// Where the peak lies, and how far activations went. @pre the workload knows its phases
void tell_peak(const Workload& workload, const MomentObserver& moments, SweepRun& run);

}  // namespace highwater
