// Where reserved memory goes: what was asked for, what rounding and unsplit blocks add, what waits
// for other streams, and what lies free in which pool. All parts sum to the reserved bytes.
#pragma once

#include <vector>

#include "allocator/memory_map.hpp"
#include "allocator/settings/settings.hpp"

namespace highwater {

/// The cached memory of one pool and stream.
struct PoolShare {
  StreamId stream;
  PoolKind kind = PoolKind::large;
  PoolId owner;
  Bytes active;           ///< in blocks handed out or waiting for other streams
  Bytes fragments;        ///< free, in segments of which something is in use
  Bytes unused_segments;  ///< free segments, which empty_cache() would return

  [[nodiscard]] Bytes free() const { return fragments + unused_segments; }
};

struct MemoryAnatomy {
  Bytes requested;    ///< asked for, over allocated blocks
  Bytes rounding;     ///< what the size rules add: 512 bytes, roundup_power2_divisions
  Bytes split_tails;  ///< what blocks have beyond that: the rest was too small to be split off
  Bytes awaiting;     ///< freed blocks that wait for other streams
  std::vector<PoolShare> pools;

  [[nodiscard]] Bytes allocated() const { return requested + rounding + split_tails; }

  [[nodiscard]] Bytes reserved() const;
};

/// What an active block consists of; the parts sum to its size.
struct BlockAnatomy {
  Bytes requested;
  Bytes rounding;
  Bytes split_tail;
  Bytes awaiting;  ///< all of a block that waits for other streams
};

BlockAnatomy anatomy_of(const MapBlock& block, const Settings& settings);

/// `settings` are those under which the map came about: they decide what rounding is.
MemoryAnatomy anatomy_of(const MemoryMap& map, const Settings& settings);

}  // namespace highwater
