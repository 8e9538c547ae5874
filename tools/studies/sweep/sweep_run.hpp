// A file or a plan under every combination of values, in pieces.
//
// Of a million runs nobody reads all: a table keeps the best ones, JSON lines keep none and are
// written as they come, and only JSON and CSV hold everything. A piece counts, ranks and writes its
// own runs where it is carried out, so what comes back is small. Of a table's runs those that
// cannot be among the best are not replayed (sweep_bounds.hpp).
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "tools/fleet/fleet.hpp"
#include "tools/studies/sweep/plan_cache.hpp"
#include "tools/studies/sweep/sweep_result.hpp"

namespace highwater {

/// The sweep of one device of a file, or of a plan.
struct Sweep {
  Workload workload;
  std::vector<std::string> keys;  ///< of the axes
  SweepRun base;                  ///< the workload's own settings and limits, `set` empty
  std::vector<SweepRun> runs;  ///< those that are kept: all in input order, or the best, best first
  SweepCounts counts;          ///< of all
  std::vector<SweepRun> preferred;  ///< the first by is_preferred(); none if there are no runs
};

/// What is made of the runs.
enum class SweepAnswer : std::uint8_t { all_runs, best_runs, lines };

/// Whether runs that bounds show not to be among the best are replayed all the same.
enum class SweepBounds : std::uint8_t { used, unused };

struct SweepQuestion {
  std::vector<SweepAxis> axes;
  SweepAnswer answer = SweepAnswer::all_runs;
  std::size_t top = 0;  ///< best runs that are kept
  SweepBounds bounds = SweepBounds::used;
  /// SweepAnswer::lines: a run as text, of a sweep whose runs are not there yet; on any thread ...
  std::function<std::string(const Sweep&, const SweepRun&)> line;
  std::function<void(const std::string&)> write;  ///< ... and where it goes, in input order
};

/// Runs every combination. `plans.make` is called about once for each combination of plan options.
/// @throws UsageError for values that an option refuses, before anything is replayed
Sweep run_sweep(Workload workload, const SweepQuestion& question, const SweptPlans& plans,
                Fleet& fleet);

}  // namespace highwater
