#include "sim/peak/pool_history.hpp"

#include <algorithm>
#include <utility>

#include "sim/replay/trace_driver.hpp"
#include "sim/replay/usage_tracker.hpp"

namespace highwater {
namespace {

constexpr std::size_t index(Curve curve) {
  return static_cast<std::size_t>(curve);
}

}  // namespace

// The start

void PoolHistory::begin(const CachingAllocator& allocator, const TraceDriver& driver,
                        std::size_t allocations) {
  for (const MapSegment& segment : allocator.memory_map().segments) {
    begin_segment(segment.range(), {segment.owner, segment.kind, segment.stream});
  }
  for (std::size_t i = 0; i < allocations; ++i) {
    if (driver.handle(AllocationId{i}).has_value()) {
      begin_block(AllocationId{i}, allocator.block(driver.handle(AllocationId{i})));
    }
  }
  add_points(usage_of(allocator.statistics()));
}

PoolStream PoolHistory::home_of(const Block& block) {
  return {block.home->pool->owner, block.kind(), block.stream()};
}

Bytes& PoolHistory::amount(Curve curve, const PoolStream& home) {
  const auto [pool, is_new] = pools_.try_emplace(home);
  if (is_new) {
    pool->second.timeline = Timeline(ThinnedCurve::kAnyNumber, curve_width_);
  }
  return pool->second.now.at(index(curve));
}

void PoolHistory::add(Curve curve, const PoolStream& home, Bytes size) {
  amount(curve, home) += size;
}

void PoolHistory::remove(Curve curve, const PoolStream& home, Bytes size) {
  Bytes& now = amount(curve, home);
  adds_up_ = adds_up_ && now >= size;
  now -= std::min(now, size);
}

void PoolHistory::begin_block(AllocationId id, const Block& block) {
  const Held held{home_of(block), block.size};
  blocks_.insert_or_assign(block.address.value(), held);
  allocated_.insert_or_assign(id.index(), held);
  add(Curve::allocated, held.home, held.size);
  add(Curve::active, held.home, held.size);
}

void PoolHistory::begin_segment(AddressRange range, const PoolStream& home) {
  open_[range.begin] = {range, home, at_, std::nullopt};
  add(Curve::reserved, home, range.size);
}

/// Pages are unmapped in pieces of what was mapped, or across it; what remains lives on.
void PoolHistory::end_segments(AddressRange range) {
  auto it = open_.upper_bound(range.begin);
  if (it != open_.begin()) {
    --it;
  }
  while (it != open_.end() && it->first < range.end()) {
    const SegmentLife life = it->second;
    const Address begin = std::max(life.range.begin, range.begin);
    const Address end = std::min(life.range.end(), range.end());
    if (!(begin < end)) {
      ++it;
      continue;
    }
    it = open_.erase(it);
    SegmentLife gone = life;
    gone.range = {begin, end - begin};
    gone.end = at_;
    keep(gone, at_);
    remove(Curve::reserved, life.home, gone.range.size);
    for (const AddressRange rest : {AddressRange{life.range.begin, begin - life.range.begin},
                                    AddressRange{end, life.range.end() - end}}) {
      if (rest.size.count() != 0) {
        SegmentLife kept = life;
        kept.range = rest;
        open_[rest.begin] = kept;
      }
    }
    it = open_.lower_bound(end);
  }
}

void PoolHistory::keep(const SegmentLife& life, std::uint64_t end) {
  segments_.add(life, static_cast<double>(life.range.size.count()) *
                          static_cast<double>(end - life.begin + 1));
}

// The events

void PoolHistory::follow(const Event& event, const CachingAllocator& allocator,
                         const TraceDriver& driver, std::uint64_t at) {
  at_ = at;
  BlockId handle;
  if (event.kind == EventKind::alloc) {
    handle = driver.handle(event.allocation);
  } else if (event.kind == EventKind::free) {
    if (const auto node = allocated_.extract(event.allocation.index())) {
      remove(Curve::allocated, node.mapped().home, node.mapped().size);
    }
  }
  const auto home = handle.has_value() ? std::optional(home_of(allocator.block(handle)))
                                       : std::optional<PoolStream>();
  for (const Decision& decision : decisions_) {
    apply(decision, home);
  }
  decisions_.clear();
  if (handle.has_value()) {
    begin_block(event.allocation, allocator.block(handle));
  }
  add_points(usage_of(allocator.statistics()));
}

void PoolHistory::apply(const Decision& decision, const std::optional<PoolStream>& home) {
  const AddressRange range{decision.address, decision.size};
  switch (decision.action) {
    case RecordedAction::segment_alloc:
    case RecordedAction::segment_map:
      if (home) {
        begin_segment(range, *home);
      }
      adds_up_ &= home.has_value();
      break;
    case RecordedAction::segment_free:
    case RecordedAction::segment_unmap:
      end_segments(range);
      break;
    case RecordedAction::free_completed:
      complete(decision.address);
      break;
    default:
      break;
  }
}

void PoolHistory::complete(Address address) {
  const auto found = blocks_.find(address.value());
  if (found == blocks_.end()) {
    adds_up_ = false;
    return;
  }
  remove(Curve::active, found->second.home, found->second.size);
  blocks_.erase(found);
}

void PoolHistory::add_points(const Usage& usage) {
  Usage sum;
  for (auto& [home, amounts] : pools_) {
    sum.allocated += amounts.now[index(Curve::allocated)];
    sum.active += amounts.now[index(Curve::active)];
    sum.reserved += amounts.now[index(Curve::reserved)];
    amounts.timeline.add_at(at_, amounts.now);
  }
  sum.requested = usage.requested;
  adds_up_ &= sum == usage;
}

PoolTimelines PoolHistory::take_timelines() {
  PoolTimelines timelines;
  for (auto& [home, amounts] : pools_) {
    if (adds_up_) {
      timelines.emplace(home, std::move(amounts.timeline));
    }
  }
  return timelines;
}

KeptItems<SegmentLife> PoolHistory::take_segments(std::uint64_t end) {
  for (const auto& [begin, life] : open_) {
    keep(life, end);
  }
  return segments_.take();
}

}  // namespace highwater
