#include "sim/peak/peak_breakdown.hpp"

#include <algorithm>
#include <map>
#include <tuple>
#include <vector>

namespace highwater {
namespace {

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

  std::vector<BlockOrigin> origins;  ///< by AllocationId
  Numbers<StreamId> streams;
  Numbers<PoolId> pools;
};

/// Takes the state at the peak apart.
class PeakSums {
 public:
  PeakSums(const RequestTrace& trace, const MemoryState& state) : facts_(trace), state_(&state) {}

  void add_to(PeakBreakdown& result) {
    std::size_t block = 0;
    for (const MapSegment& segment : state_->map.segments) {
      result.parts += add(segment);
      for (const MapBlock& each : segment.blocks) {
        add(each, state_->owners[block++]);
      }
    }
    for (const auto& [key, share] : segments_) {
      result.segments.push_back(share);
    }
    result.holders = holders_.by_origin();
  }

 private:
  using SegmentKey = std::tuple<SegmentClass, std::uint32_t, std::uint32_t>;

  MemoryBreakdown add(const MapSegment& segment) {
    const SegmentKey key{segment_class(segment, state_->settings), facts_.pools.of(segment.owner),
                         facts_.streams.of(segment.stream)};
    SegmentShare& share = segments_[key];
    std::tie(share.segment_class, share.pool, share.stream) = key;
    ++share.segments;
    const MemoryBreakdown parts = breakdown_of(segment, state_->settings);
    share.parts += parts;
    return parts;
  }

  void add(const MapBlock& block, AllocationId owner) {
    if (block.state != BlockState::inactive) {
      const BlockOrigin origin = owner.has_value() ? facts_.origins[owner.index()] : BlockOrigin{};
      holders_.add(origin, breakdown_of(block, state_->settings));
    }
  }

  TraceFacts facts_;
  const MemoryState* state_;
  std::map<SegmentKey, SegmentShare> segments_;
  HolderSums<BlockOrigin, MemoryBreakdown> holders_;
};

}  // namespace

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
  PeakBreakdown result;
  result.moment = find_peak_reserved(replay);
  const std::vector<MemoryState> states =
      states_at({result.moment}, trace.allocation_count, replay);
  PeakSums(trace, states.front()).add_to(result);
  const Bytes held = result.parts.total();
  result.parts.passing = std::max(peak_reserved, held) - held;
  return result;
}

}  // namespace highwater
