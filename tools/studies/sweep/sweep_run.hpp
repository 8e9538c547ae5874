// A file or a plan under every combination of values, in pieces.
//
// Of a million runs nobody reads all: a table keeps the best ones, JSON lines keep none and are
// written as they come, and only JSON and CSV hold everything. A piece counts, ranks and writes its
// own runs where it is carried out, so what comes back is small.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "sim/peak/peak_place.hpp"
#include "tools/fleet/fleet.hpp"
#include "tools/studies/sweep/plan_cache.hpp"
#include "tools/studies/sweep/sweep_axes.hpp"
#include "tools/studies/workload.hpp"

namespace highwater {

/// One combination of values and its result.
struct SweepRun {
  std::uint64_t point = 0;  ///< in the order of input
  SweepChoice set;          ///< in the order of --set
  DeviceReplay replay;
  std::optional<std::string> problem;  ///< why such a plan is impossible; then there is no result

  std::optional<PeakPlace> place;    ///< of the highest reserved, where phases are known
  std::optional<Bytes> activations;  ///< of plans: the most at the peak of any phase

  /// Peak reserved relative to the base, e.g. -0.12; 0 where the base reserved nothing.
  double gain = 0;

  [[nodiscard]] bool ran_out() const { return replay.result.counts.ooms != 0; }

  [[nodiscard]] bool fits() const { return !problem && !ran_out(); }

  /// Calls of the device: segments allocated and freed, ranges mapped and unmapped.
  [[nodiscard]] std::uint64_t device_calls() const {
    return replay.result.counts.device_alloc + replay.result.counts.device_free;
  }

  /// The value of the batch axis, if the sweep has one.
  [[nodiscard]] std::optional<std::int64_t> batch() const;
};

/// Best first: those that survive, then by peak reserved, device calls and retries, then input
/// order; impossible ones last.
bool is_better(const SweepRun& a, const SweepRun& b);

/// Of the runs that fit, the one with the largest batch, which needs most; then the better one.
bool is_preferred(const SweepRun& a, const SweepRun& b);

struct SweepCounts {
  std::uint64_t all = 0;
  std::uint64_t out_of_memory = 0;
  std::uint64_t impossible = 0;

  [[nodiscard]] std::uint64_t fit() const { return all - out_of_memory - impossible; }

  void add(const SweepCounts& other);
};

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

struct SweepQuestion {
  std::vector<SweepAxis> axes;
  SweepAnswer answer = SweepAnswer::all_runs;
  std::size_t top = 0;  ///< best runs that are kept
  /// SweepAnswer::lines: a run as text, of a sweep whose runs are not there yet; on any thread ...
  std::function<std::string(const Sweep&, const SweepRun&)> line;
  std::function<void(const std::string&)> write;  ///< ... and where it goes, in input order
};

/// Runs every combination. `make_plan` is called about once for each combination of plan options.
/// @throws UsageError for values that an option refuses, before anything is replayed
Sweep run_sweep(Workload workload, const SweepQuestion& question, const PlanMaker& make_plan,
                Fleet& fleet);

}  // namespace highwater
