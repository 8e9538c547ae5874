#include "sim/replay/usage_tracker.hpp"

#include <algorithm>
#include <utility>

namespace highwater {
namespace {

PoolShare& share_of(PoolId owner, std::vector<PoolShare>& pools) {
  const auto place = std::ranges::lower_bound(pools, owner, {}, &PoolShare::owner);
  return place != pools.end() && place->owner == owner
             ? *place
             : *pools.insert(place, PoolShare{.owner = owner});
}

Bytes allocated_in(const MapSegment& segment) {
  Bytes allocated;
  for (const MapBlock& block : segment.blocks) {
    allocated += block.state == BlockState::active_allocated ? block.size : Bytes{};
  }
  return allocated;
}

}  // namespace

std::vector<PoolShare> pool_shares(std::span<const PoolHolding> at_peak, const MemoryMap& final) {
  std::vector<PoolShare> pools;
  for (const PoolHolding& holding : at_peak) {
    share_of(holding.owner, pools).at_peak = holding.reserved;
  }
  for (const MapSegment& segment : final.segments) {
    PoolShare& share = share_of(segment.owner, pools);
    share.final += segment.size;
    share.allocated += allocated_in(segment);
  }
  std::erase_if(pools, [](const PoolShare& pool) {
    return !pool.owner.is_default() && pool.at_peak == Bytes{} && pool.final == Bytes{};
  });
  return pools;
}

PrivateShare private_share(const std::vector<PoolShare>& pools) {
  PrivateShare sum;
  for (const PoolShare& pool : pools) {
    if (!pool.owner.is_default()) {
      sum.at_peak += pool.at_peak;
      sum.final += pool.final;
    }
  }
  return sum;
}

Usage usage_of(const Statistics& statistics) {
  return {statistics.current_bytes(Stat::requested_bytes),
          statistics.current_bytes(Stat::allocated_bytes),
          statistics.current_bytes(Stat::active_bytes),
          statistics.current_bytes(Stat::reserved_bytes)};
}

UsageTracker::UsageTracker(CachingAllocator& allocator) : allocator_(&allocator) {
  note_highest(usage_of(allocator.statistics()));
}

void UsageTracker::note_highest(const Usage& now) {
  highest_reserved_ = now.reserved;
  at_peak_reserved_ = now;
  allocator_->mark_holdings();
}

void UsageTracker::observe() {
  const Usage now = usage_of(allocator_->statistics());
  if (now.reserved > highest_reserved_) {
    note_highest(now);
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
  result.map = allocator_->memory_map();
  result.pools = pool_shares(allocator_->marked_holdings(), result.map);
  result.timeline = std::move(timeline_);
}

}  // namespace highwater
