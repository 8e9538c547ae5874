#include "allocator/statistics.hpp"

namespace highwater {

std::string_view to_string(Stat stat) {
  constexpr std::array<std::string_view, kStatCount> kNames{
      "allocation",      "segment",        "active",       "inactive_split",
      "allocated_bytes", "reserved_bytes", "active_bytes", "inactive_split_bytes",
      "requested_bytes"};
  return kNames.at(static_cast<std::size_t>(stat));
}

void Statistics::reset_peaks() {
  for (auto& pool : pools_) {
    for (Hot& value : pool) {
      value.peak = value.current;
    }
  }
  for (Total& value : all_) {
    value.peak = value.current;
  }
  oversize_allocations.reset_peak();
  oversize_segments.reset_peak();
}

StatValue Statistics::of(Stat stat, PoolKind kind) const {
  const Hot& hot = pools_.at(static_cast<std::size_t>(kind)).at(static_cast<std::size_t>(stat));
  return {hot.current, hot.peak, hot.allocated, hot.allocated - hot.current};
}

StatValue Statistics::all(Stat stat) const {
  const StatValue small = of(stat, PoolKind::small);
  const StatValue large = of(stat, PoolKind::large);
  return {current(stat), all_.at(static_cast<std::size_t>(stat)).peak,
          small.allocated + large.allocated, small.freed + large.freed};
}

}  // namespace highwater
