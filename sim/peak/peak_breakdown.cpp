#include "sim/peak/peak_breakdown.hpp"

#include <algorithm>
#include <map>
#include <tuple>
#include <utility>

#include "sim/peak/block_owners.hpp"
#include "sim/peak/memory_breakdown.hpp"
#include "sim/replay/usage_tracker.hpp"

namespace highwater {
namespace {

/// The first replay: which state has the highest reserved. State 0 is before the first event.
class PeakFinder : public StateObserver {
 public:
  void on_begin(const CachingAllocator& allocator, const TraceDriver& /*driver*/) override {
    highest_ = usage_of(allocator.statistics()).reserved;
  }

  void on_state(const Event& /*event*/, AllocationStatus /*status*/,
                const CachingAllocator& allocator, const TraceDriver& /*driver*/) override {
    ++state_;
    const Bytes reserved = usage_of(allocator.statistics()).reserved;
    if (reserved > highest_) {
      highest_ = reserved;
      peak_ = state_;
    }
  }

  [[nodiscard]] std::uint64_t peak() const { return peak_; }

 private:
  Bytes highest_;
  std::uint64_t state_ = 0;
  std::uint64_t peak_ = 0;
};

/// Numbers things by first appearance.
template <class Key>
class Numbers {
 public:
  std::uint32_t of(const Key& key) {
    return numbers_.try_emplace(key, static_cast<std::uint32_t>(numbers_.size())).first->second;
  }

 private:
  std::map<Key, std::uint32_t> numbers_;
};

struct Origin {
  StackId stack;
  Category category = Category::unknown;

  auto operator<=>(const Origin&) const = default;
};

/// What the trace tells about its blocks, streams and pools.
struct TraceFacts {
  explicit TraceFacts(const RequestTrace& trace) : origins(trace.allocation_count) {
    pools.of(PoolId{});
    for (const Event& event : trace.events) {
      if (event.kind == EventKind::alloc) {
        origins[event.allocation.index()] = {event.stack, event.category};
        streams.of(event.stream);
      } else if (event.kind == EventKind::pool_begin) {
        pools.of(trace.pools[event.pool]);
      }
    }
  }

  std::vector<Origin> origins;  ///< by AllocationId
  Numbers<StreamId> streams;
  Numbers<PoolId> pools;
};

ReservedParts parts_of(const MapBlock& block, const Settings& settings) {
  const BlockAnatomy anatomy = anatomy_of(block, settings);
  ReservedParts parts;
  parts.requested = anatomy.requested;
  parts.rounding = anatomy.rounding;
  parts.tails = anatomy.split_tail;
  parts.waiting = anatomy.awaiting;
  return parts;
}

/// The second replay: takes the state at the peak apart.
class PeakTaker : public StateObserver {
 public:
  PeakTaker(const RequestTrace& trace, std::uint64_t peak)
      : allocations_(trace.allocation_count), facts_(trace), peak_(peak) {}

  void on_begin(const CachingAllocator& allocator, const TraceDriver& driver) override {
    owners_.begin(driver, allocations_);
    take_if_peak(allocator, driver);
  }

  void on_state(const Event& event, AllocationStatus /*status*/, const CachingAllocator& allocator,
                const TraceDriver& driver) override {
    owners_.follow(event, driver);
    if (event.kind == EventKind::step) {
      step_ = event.value;
    }
    ++state_;
    take_if_peak(allocator, driver);
  }

  PeakBreakdown finish() {
    for (const auto& [key, share] : segments_) {
      result_.segments.push_back(share);
    }
    for (const auto& [origin, share] : holders_) {
      result_.holders.push_back(share);
    }
    return std::move(result_);
  }

 private:
  using SegmentKey = std::tuple<SegmentClass, std::uint32_t, std::uint32_t>;

  void take_if_peak(const CachingAllocator& allocator, const TraceDriver& driver) {
    if (state_ != peak_) {
      return;
    }
    result_.usage = usage_of(allocator.statistics());
    result_.operations = driver.operations();
    result_.step = step_;
    for (const MapSegment& segment : allocator.memory_map().segments) {
      add(segment, allocator.settings());
    }
  }

  void add(const MapSegment& segment, const Settings& settings) {
    const SegmentKey key{segment_class(segment, settings), facts_.pools.of(segment.owner),
                         facts_.streams.of(segment.stream)};
    SegmentShare& share = segments_[key];
    std::tie(share.segment_class, share.pool, share.stream) = key;
    ++share.segments;
    ReservedParts parts;
    for (const MapBlock& block : segment.blocks) {
      if (block.state != BlockState::inactive) {
        const ReservedParts own = parts_of(block, settings);
        parts += own;
        add_holder(owners_.of(block), own);
      }
    }
    (parts.in_use() == Bytes{} ? parts.free_whole : parts.free_in_split) =
        segment.size - parts.in_use();
    share.parts += parts;
    result_.parts += parts;
  }

  void add_holder(AllocationId owner, const ReservedParts& parts) {
    const Origin origin = owner.has_value() ? facts_.origins[owner.index()] : Origin{};
    HolderShare& share = holders_[origin];
    share.stack = origin.stack;
    share.category = origin.category;
    ++share.blocks;
    share.parts += parts;
  }

  std::size_t allocations_;
  TraceFacts facts_;
  std::uint64_t peak_;
  std::uint64_t state_ = 0;
  std::optional<std::uint64_t> step_;
  BlockOwners owners_;
  std::map<SegmentKey, SegmentShare> segments_;
  std::map<Origin, HolderShare> holders_;
  PeakBreakdown result_;
};

}  // namespace

ReservedParts& ReservedParts::operator+=(const ReservedParts& other) {
  requested += other.requested;
  rounding += other.rounding;
  tails += other.tails;
  waiting += other.waiting;
  free_in_split += other.free_in_split;
  free_whole += other.free_whole;
  passing += other.passing;
  return *this;
}

std::string_view to_string(SegmentClass segment_class) {
  switch (segment_class) {
    case SegmentClass::small:
      return "small";
    case SegmentClass::large_shared:
      return "large, shared";
    case SegmentClass::large_own:
      return "large, of one request";
    case SegmentClass::expandable_small:
      return "expandable, small";
    case SegmentClass::expandable_large:
      break;
  }
  return "expandable, large";
}

SegmentClass segment_class(const MapSegment& segment, const Settings& settings) {
  const bool is_small = segment.kind == PoolKind::small;
  if (segment.is_expandable) {
    return is_small ? SegmentClass::expandable_small : SegmentClass::expandable_large;
  }
  if (is_small) {
    return SegmentClass::small;
  }
  return segment.size == settings.large_segment_size ? SegmentClass::large_shared
                                                     : SegmentClass::large_own;
}

PeakBreakdown break_down_peak(const RequestTrace& trace, const WatchedReplay& replay,
                              Bytes peak_reserved) {
  PeakFinder finder;
  replay(finder);
  PeakTaker taker(trace, finder.peak());
  replay(taker);
  PeakBreakdown result = taker.finish();
  const Bytes held = result.parts.total();
  result.parts.passing = std::max(peak_reserved, held) - held;
  return result;
}

}  // namespace highwater
