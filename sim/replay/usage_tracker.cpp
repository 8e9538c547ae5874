#include "sim/replay/usage_tracker.hpp"

#include <algorithm>
#include <utility>

namespace highwater {

Usage usage_of(const Statistics& statistics) {
  return {statistics.current_bytes(Stat::requested_bytes),
          statistics.current_bytes(Stat::allocated_bytes),
          statistics.current_bytes(Stat::active_bytes),
          statistics.current_bytes(Stat::reserved_bytes)};
}

UsageTracker::UsageTracker(const CachingAllocator& allocator) : allocator_(&allocator) {
  at_peak_reserved_ = usage_of(allocator.statistics());
  highest_reserved_ = at_peak_reserved_.reserved;
}

void UsageTracker::observe() {
  const Usage now = usage_of(allocator_->statistics());
  if (now.reserved > highest_reserved_) {
    highest_reserved_ = now.reserved;
    at_peak_reserved_ = now;
  }
  timeline_.add(curve_values(now));
}

Bytes UsageTracker::peak(Stat stat) const {
  return Bytes{static_cast<std::uint64_t>(allocator_->statistics().all(stat).peak)};
}

void UsageTracker::raise_peaks() {
  peak_.requested = std::max(peak_.requested, peak(Stat::requested_bytes));
  peak_.allocated = std::max(peak_.allocated, peak(Stat::allocated_bytes));
  peak_.active = std::max(peak_.active, peak(Stat::active_bytes));
  peak_.reserved = std::max(peak_.reserved, peak(Stat::reserved_bytes));
}

void UsageTracker::before_reset() {
  raise_peaks();
}

void UsageTracker::finish(ReplayResult& result) {
  raise_peaks();
  result.peak = peak_;
  result.at_peak_reserved = at_peak_reserved_;
  result.final = usage_of(allocator_->statistics());
  result.timeline = std::move(timeline_);
}

}  // namespace highwater
