#include "sim/recordings/initial_state.hpp"

#include <algorithm>
#include <iterator>
#include <map>
#include <tuple>

#include "allocator/size_policy.hpp"

namespace highwater {
namespace {

/// So large that no reservation ever runs out; nothing depends on the exact size.
constexpr Bytes kReservationRoom{std::uint64_t{1} << 44};

/// A segment or mapped range on its way back in time.
struct Range {
  Bytes size;
  StreamId stream;
  PoolKind kind = PoolKind::large;
  bool is_expandable = false;
  PoolId owner;
};

using Ranges = std::map<Address, Range>;

StreamId stream_of(const RecordedEntry& entry) {
  return StreamId{std::uint32_t{entry.stream}};
}

/// Small pools make segments and pages of 2 MiB, large ones of 10 MiB and more.
PoolKind kind_by_size(Bytes size) {
  return size == kSmallBuffer ? PoolKind::small : PoolKind::large;
}

Ranges final_ranges(const RecordedDevice& device) {
  Ranges ranges;
  for (const RecordedSegment& segment : device.segments) {
    ranges[segment.address] = {segment.size, StreamId{std::uint32_t{segment.stream}},
                               segment.is_large ? PoolKind::large : PoolKind::small,
                               segment.is_expandable, segment.pool};
  }
  return ranges;
}

/// Takes `gone` out of the mapped range that holds it.
void cut(Ranges& ranges, AddressRange gone) {
  auto it = ranges.upper_bound(gone.begin);
  if (it == ranges.begin()) {
    return;
  }
  --it;
  const AddressRange held{it->first, it->second.size};
  if (gone.begin < held.begin || held.end() < gone.end()) {
    return;
  }
  const Range attributes = it->second;
  ranges.erase(it);
  const auto keep = [&](Address begin, Address end) {
    if (begin < end) {
      ranges[begin] = attributes;
      ranges[begin].size = end - begin;
    }
  };
  keep(held.begin, gone.begin);
  keep(gone.end(), held.end());
}

/// Adds `back` as mapped, joined with adjacent ranges, which also determine its kind and owner.
void join(Ranges& ranges, AddressRange back, Range attributes) {
  const auto after = ranges.find(back.end());
  if (after != ranges.end() && after->second.is_expandable) {
    attributes = after->second;
    back.size += after->second.size;
    ranges.erase(after);
  }
  const auto next = ranges.lower_bound(back.begin);
  if (next != ranges.begin()) {
    const auto before = std::prev(next);
    if (before->second.is_expandable && before->first + before->second.size == back.begin) {
      attributes = before->second;
      back = {before->first, before->second.size + back.size};
      ranges.erase(before);
    }
  }
  attributes.size = back.size;
  ranges[back.begin] = attributes;
}

/// The pool of a mapped range of before, of which nothing is left: pages come in 2 and 20 MiB. Ten
/// small ones look like a large one; then the blocks in it decide.
PoolKind kind_of_pages(const RecordedDevice& device, AddressRange range) {
  if (range.size.count() % kLargeBuffer.count() != 0) {
    return PoolKind::small;
  }
  for (const RecordedEntry& entry : device.entries) {
    const bool is_free = entry.action == RecordedAction::free_completed;
    if ((is_free || entry.action == RecordedAction::alloc) && range.contains(entry.address)) {
      return entry.size <= kSmallSize ? PoolKind::small : PoolKind::large;
    }
  }
  return PoolKind::large;
}

void undo(Ranges& ranges, const RecordedDevice& device, const RecordedEntry& entry) {
  const AddressRange range{entry.address, entry.size};
  switch (entry.action) {
    case RecordedAction::segment_alloc:
      ranges.erase(entry.address);
      break;
    case RecordedAction::segment_free:
      ranges[entry.address] = {entry.size, stream_of(entry), kind_by_size(entry.size), false, {}};
      break;
    case RecordedAction::segment_map:
      cut(ranges, range);
      break;
    case RecordedAction::segment_unmap:
      join(ranges, range, {entry.size, stream_of(entry), kind_of_pages(device, range), true, {}});
      break;
    default:
      break;
  }
}

/// No memory may be held twice or in part, whatever a damaged file says: of two ranges that overlap
/// the lower one stays.
void drop_impossible(Ranges& ranges) {
  Address reached;
  for (auto it = ranges.begin(); it != ranges.end();) {
    const Address end = it->first + it->second.size;
    const bool whole = it->second.size % kMinBlockSize == Bytes{0};
    const bool fits = reached <= it->first && it->first < end && whole;
    reached = fits ? end : reached;
    it = fits ? std::next(it) : ranges.erase(it);
  }
}

Ranges initial_ranges(const RecordedDevice& device) {
  Ranges ranges = final_ranges(device);
  for (std::size_t i = device.entries.size(); i-- > 0;) {
    undo(ranges, device, device.entries[i]);
  }
  drop_impossible(ranges);
  return ranges;
}

/// The block size for an older block with `room` bytes until its next neighbour.
struct Sized {
  Bytes size;
  bool doubtful = false;
};

Sized size_of(const OlderBlock& block, const Range& range, Bytes room, const Settings& settings) {
  if (block.size) {
    return {std::min(*block.size, room)};
  }
  const Bytes rounded = std::min(round_size(block.requested, settings), room);
  if (range.is_expandable || range.kind == PoolKind::small) {
    return {rounded};  // these split at 512 bytes: a block is never larger than its rounding
  }
  const Bytes gap = room - rounded;
  const bool unsplit = gap <= kSmallSize || rounded >= settings.max_split_size;
  if (!unsplit && block.told_size) {
    return {*block.told_size};
  }
  return {unsplit ? room : rounded, gap > kSmallSize};
}

/// The sizes of older blocks that later allocations reveal. While such a block lives, the free
/// block after it begins where it ends, and the first allocation there is placed exactly at that
/// point.
void find_ends(std::vector<OlderBlock>& blocks, const RecordedDevice& device,
               const Settings& settings) {
  std::vector<bool> freed(blocks.size());
  for (const RecordedEntry& entry : device.entries) {
    const auto above = std::ranges::upper_bound(blocks, entry.address, {}, &OlderBlock::address);
    if (above == blocks.begin()) {
      continue;
    }
    OlderBlock& block = *std::prev(above);
    const auto i = static_cast<std::size_t>(&block - blocks.data());
    if (entry.action == RecordedAction::free_completed && entry.address == block.address) {
      freed[i] = true;
    }
    const Address least = block.address + round_size(block.requested, settings);
    if (entry.action == RecordedAction::alloc && !freed[i] && !block.told_size &&
        least <= entry.address && entry.address - least <= kSmallSize) {
      block.told_size = entry.address - block.address;
    }
  }
}

class Builder {
 public:
  /// `blocks` by address.
  Builder(std::vector<OlderBlock> blocks, const Settings& settings)
      : blocks_(std::move(blocks)), settings_(&settings) {}

  void add(Address begin, const Range& range) {
    skip_until(begin);
    MapSegment segment;
    segment.address = begin;
    segment.size = range.size;
    segment.stream = range.stream;
    segment.kind = range.kind;
    segment.is_expandable = range.is_expandable;
    segment.owner = range.owner;
    segment.reservation = segment.range();
    fill(segment, range);
    state_.map.segments.push_back(std::move(segment));
  }

  InitialState finish() {
    skip_until(Address{~std::uint64_t{0}});
    return std::move(state_);
  }

 private:
  void skip_until(Address begin) {
    for (; next_ < blocks_.size() && blocks_[next_].address < begin; ++next_) {
      state_.misplaced.push_back(blocks_[next_].id);
    }
  }

  void fill(MapSegment& segment, const Range& range) {
    Address reached = segment.address;
    const Address end = segment.range().end();
    for (; next_ < blocks_.size() && blocks_[next_].address < end; ++next_) {
      const OlderBlock& block = blocks_[next_];
      const bool last = next_ + 1 == blocks_.size() || end <= blocks_[next_ + 1].address;
      const Address limit = last ? end : blocks_[next_ + 1].address;
      const Bytes needed = std::max(block.requested, kMinBlockSize);
      const bool aligned = (block.address - segment.address) % kMinBlockSize == Bytes{0};
      if (block.address < reached || limit - block.address < needed || !aligned) {
        state_.misplaced.push_back(block.id);  // overlaps another one, or was never a block
        continue;
      }
      add_free(segment, reached, block.address);
      const Sized sized = size_of(block, range, limit - block.address, *settings_);
      state_.doubtful += sized.doubtful ? 1U : 0U;
      segment.blocks.push_back(
          {block.address, sized.size, block.requested, BlockState::active_allocated, {}});
      state_.ids.push_back(block.id);
      state_.stacks.push_back(block.stack);
      reached = block.address + sized.size;
    }
    add_free(segment, reached, end);
  }

  void add_free(MapSegment& segment, Address begin, Address end) {
    if (begin < end) {
      segment.blocks.push_back({begin, end - begin, Bytes{0}, BlockState::inactive, {}});
      state_.ids.push_back(AllocationId::none());
      state_.stacks.push_back(StackId::none());
    }
  }

  std::vector<OlderBlock> blocks_;
  const Settings* settings_;
  std::size_t next_ = 0;
  InitialState state_;
};

/// Whose ranges can share a reservation.
std::tuple<PoolId, PoolKind, StreamId> reservation_key(const MapSegment& segment) {
  return {segment.owner, segment.kind, segment.stream};
}

/// Where a reservation that holds `first` begins: not above any range ever mapped in it, and not
/// below `floor`, where the memory before it ends.
Address reservation_base(const MapSegment& first, Address floor, const RecordedDevice& device) {
  constexpr Bytes kFar{std::uint64_t{1} << 33};  // reservations lie further apart than that
  Address base = first.address;
  for (const RecordedEntry& entry : device.entries) {
    if (entry.action == RecordedAction::segment_map && entry.address < base &&
        floor <= entry.address && first.address - entry.address < kFar &&
        stream_of(entry) == first.stream && kind_by_size(entry.size) == first.kind) {
      base = entry.address;
    }
  }
  return base;
}

/// Neighbouring expandable ranges of one pool and stream are pieces of one reservation.
void find_reservations(MemoryMap& map, const RecordedDevice& device) {
  const MapSegment* previous = nullptr;
  for (MapSegment& segment : map.segments) {
    if (segment.is_expandable) {
      const bool continues = previous != nullptr && previous->is_expandable &&
                             reservation_key(*previous) == reservation_key(segment);
      const Address floor = previous == nullptr ? Address{} : previous->range().end();
      segment.reservation =
          continues ? previous->reservation
                    : AddressRange{reservation_base(segment, floor, device), kReservationRoom};
    }
    previous = &segment;
  }
}

}  // namespace

InitialState rebuild_initial_state(const RecordedDevice& device, std::vector<OlderBlock> blocks,
                                   const Settings& settings) {
  std::ranges::sort(blocks, {}, &OlderBlock::address);
  find_ends(blocks, device, settings);
  Builder builder(std::move(blocks), settings);
  for (const auto& [begin, range] : initial_ranges(device)) {
    builder.add(begin, range);
  }
  InitialState state = builder.finish();
  find_reservations(state.map, device);
  return state;
}

}  // namespace highwater
