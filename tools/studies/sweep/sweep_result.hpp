// One run of a sweep, which of two is better, and how many there are.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "sim/peak/peak_place.hpp"
#include "tools/studies/sweep/sweep_grid.hpp"

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
  std::uint64_t ruled_out = 0;  ///< of all: known by a bound, without a replay (sweep_bounds.hpp)

  [[nodiscard]] std::uint64_t fit() const { return all - out_of_memory - impossible; }

  void add(const SweepCounts& other);
};

}  // namespace highwater
