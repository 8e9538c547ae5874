// The cross product of the axes of a sweep, replayed on all cores; results in input order.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "sim/peak/peak_place.hpp"
#include "tools/studies/sweep_axes.hpp"
#include "tools/studies/workload.hpp"

namespace highwater {

/// One combination of values and its result.
struct SweepRun {
  std::vector<std::pair<std::string, std::string>> set;  ///< key and value, in the order of --set
  DeviceReplay replay;
  std::optional<std::string> problem;  ///< why such a plan is impossible; then there is no result

  std::optional<PeakPlace> place;    ///< of the highest reserved, where phases are known
  std::optional<Bytes> activations;  ///< of plans: the most at the peak of any phase

  /// Peak reserved relative to the base, e.g. -0.12; 0 where the base reserved nothing.
  double gain = 0;

  [[nodiscard]] bool ran_out() const { return replay.result.counts.ooms != 0; }

  /// Calls of the device: segments allocated and freed, ranges mapped and unmapped.
  [[nodiscard]] std::uint64_t device_calls() const {
    return replay.result.counts.device_alloc + replay.result.counts.device_free;
  }
};

/// The sweep of one device of a file, or of a plan.
struct Sweep {
  Workload workload;
  SweepRun base;  ///< the workload's own settings and limits, `set` empty
  std::vector<SweepRun> runs;

  /// Indices into `runs`, best first: those that survive, then by peak reserved, device calls and
  /// retries, then input order; impossible ones last.
  [[nodiscard]] std::vector<std::size_t> ranking() const;
};

/// Makes the plan's workload with some options set anew. @throws UsageError when it cannot be
using PlanMaker =
    std::function<Workload(const std::vector<std::pair<std::string, std::string>>& options)>;

/// Runs every combination. `make_plan` is called once for each combination of plan options.
/// @throws UsageError for values that an option refuses, before anything is replayed
Sweep run_sweep(Workload workload, std::vector<SweepAxis> axes, const PlanMaker& make_plan);

}  // namespace highwater
