// Watches an allocator after every operation: exact peaks, the moment of the highest reserved, and
// the timeline.
#pragma once

#include <span>
#include <vector>

#include "allocator/caching_allocator.hpp"
#include "sim/replay/replay_result.hpp"
#include "sim/replay/timeline.hpp"

namespace highwater {

class UsageTracker {
 public:
  /// The state right now is the first one; `allocator` must outlive the tracker.
  explicit UsageTracker(CachingAllocator& allocator);

  /// To be called after every operation.
  void observe();
  /// To be called before the statistics' peaks are reset, which would lose them.
  void before_reset();

  /// What the last `length` operations did is done another `times` times.
  void repeat(const std::array<CurvePeriod, kCurveCount>& changes, std::uint64_t length,
              std::uint64_t times) {
    timeline_.add_periods(changes, length, times);
  }

  /// Fills the peaks, the state and the timeline of `result`.
  void finish(ReplayResult& result);

 private:
  [[nodiscard]] Bytes peak(Stat stat) const;
  void raise_peaks();
  void note_highest(const Usage& now);

  CachingAllocator* allocator_;
  Usage peak_;
  Usage at_peak_reserved_;
  Bytes highest_reserved_;
  Timeline timeline_;
};

std::vector<PoolShare> pool_shares(std::span<const PoolHolding> at_peak, const MemoryMap& final);

/// The current values of the four curves.
Usage usage_of(const Statistics& statistics);

/// The same in the order of the curves.
inline CurveValues curve_values(const Usage& usage) {
  return {usage.requested, usage.allocated, usage.active, usage.reserved};
}

}  // namespace highwater
