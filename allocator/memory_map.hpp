// An immutable picture of everything an allocator holds: segments, blocks, owners.
//
// The same picture serves three purposes: the final memory map of a replay, the state that a replay
// of a recording starts from, and the input of the invariant check. Source: SegmentInfo and
// BlockInfo of c10/cuda/CUDACachingAllocator.h, PyTorch 2.6.0.
#pragma once

#include <vector>

#include "allocator/block.hpp"
#include "allocator/size_policy.hpp"
#include "traces/address.hpp"
#include "traces/ids.hpp"
#include "traces/recording.hpp"
#include "traces/units.hpp"

namespace highwater {

struct MapBlock {
  Address address;
  Bytes size;
  Bytes requested;  ///< 0 when inactive
  BlockState state = BlockState::inactive;
  BlockId handle;  ///< the allocator's handle of an active block

  [[nodiscard]] AddressRange range() const { return {address, size}; }
};

/// A segment, or one contiguous mapped range of an expandable segment.
struct MapSegment {
  Address address;
  Bytes size;
  StreamId stream;
  PoolKind kind = PoolKind::large;
  bool is_expandable = false;
  PoolId owner;
  AddressRange reservation;      ///< of the expandable segment; equals the segment when fixed
  std::vector<MapBlock> blocks;  ///< in address order, gapless

  [[nodiscard]] AddressRange range() const { return {address, size}; }
};

struct MemoryMap {
  std::vector<MapSegment> segments;  ///< by address
};

}  // namespace highwater
