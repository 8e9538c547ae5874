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
  for (std::size_t stat = 0; stat < kStatCount; ++stat) {
    peaks_[stat] = sum(static_cast<Stat>(stat));
  }
  for (Pending* pending : {&pending_, &pool_pending_.front(), &pool_pending_.back()}) {
    pending->active_peak = 0;
    pending->active_bytes_peak = 0;
  }
  raise_active_peaks(PoolKind::small);
  raise_active_peaks(PoolKind::large);
  oversize_allocations.reset_peak();
  oversize_segments.reset_peak();
}

void Statistics::repeat(const Statistics& before, std::uint64_t times) {
  const auto n = static_cast<std::int64_t>(times);
  for (std::size_t kind = 0; kind < pools_.size(); ++kind) {
    for (std::size_t stat = 0; stat < kStatCount; ++stat) {
      Hot& hot = pools_[kind][stat];
      hot.allocated += (hot.allocated - before.pools_[kind][stat].allocated) * n;
    }
  }
  oversize_allocations.repeat(before.oversize_allocations, n);
  oversize_segments.repeat(before.oversize_segments, n);
}

void Statistics::raise_active_peaks(PoolKind kind) {
  const auto raise = [](Pending& pending, std::int64_t allocation, std::int64_t bytes) {
    pending.active_peak = std::max(pending.active_peak, allocation + pending.blocks);
    pending.active_bytes_peak = std::max(pending.active_bytes_peak, bytes + pending.bytes);
  };
  const auto& pool = pools_[index(kind)];
  raise(pool_pending_[index(kind)], pool[index(Stat::allocation)].current,
        pool[index(Stat::allocated_bytes)].current);
  raise(pending_, sum(Stat::allocation), sum(Stat::allocated_bytes));
}

StatValue Statistics::with_pending(StatValue value, std::int64_t pending, std::int64_t peak) {
  value.current += pending;
  value.freed -= pending;
  value.peak = std::max(value.peak, peak);
  return value;
}

StatValue Statistics::of(Stat stat, PoolKind kind) const {
  const Pending& pending = pool_pending_[index(kind)];
  if (stat == Stat::active) {
    return with_pending(of(Stat::allocation, kind), pending.blocks, pending.active_peak);
  }
  if (stat == Stat::active_bytes) {
    return with_pending(of(Stat::allocated_bytes, kind), pending.bytes, pending.active_bytes_peak);
  }
  const Hot& hot = pools_[index(kind)][index(stat)];
  return {hot.current, hot.peak, hot.allocated, hot.allocated - hot.current};
}

StatValue Statistics::all(Stat stat) const {
  if (stat == Stat::active) {
    return with_pending(all(Stat::allocation), pending_.blocks, pending_.active_peak);
  }
  if (stat == Stat::active_bytes) {
    return with_pending(all(Stat::allocated_bytes), pending_.bytes, pending_.active_bytes_peak);
  }
  const StatValue small = of(stat, PoolKind::small);
  const StatValue large = of(stat, PoolKind::large);
  return {small.current + large.current, peaks_[index(stat)], small.allocated + large.allocated,
          small.freed + large.freed};
}

}  // namespace highwater
