// What reserved memory consists of: what was asked for, what rounding and unsplit blocks add, what
// waits for other streams, and what lies free. The parts of a block sum to its size, those of a
// segment, a pool or a whole map to the reserved bytes.
#pragma once

#include <compare>
#include <vector>

#include "allocator/memory_map.hpp"
#include "allocator/settings/settings.hpp"

namespace highwater {

struct MemoryBreakdown {
  Bytes requested;      ///< asked for, over blocks handed out
  Bytes rounding;       ///< what the size rules add: 512 bytes, roundup_power2_divisions
  Bytes tails;          ///< of blocks beyond that: the rest was too small to be split off
  Bytes waiting;        ///< freed blocks that wait for other streams
  Bytes free_in_split;  ///< free, in segments of which something is in use
  Bytes free_whole;     ///< free segments, which empty_cache() would return
  Bytes passing;        ///< reserved during an operation only (peak_breakdown.hpp)

  [[nodiscard]] Bytes in_use() const { return requested + rounding + tails + waiting; }

  [[nodiscard]] Bytes total() const { return in_use() + free_in_split + free_whole + passing; }

  MemoryBreakdown& operator+=(const MemoryBreakdown& other);

  bool operator==(const MemoryBreakdown&) const = default;
};

/// The memory of one pool on one stream: what is cached for one cannot serve another.
struct PoolStream {
  PoolId owner;
  PoolKind kind = PoolKind::large;
  StreamId stream;

  auto operator<=>(const PoolStream&) const = default;
};

struct PoolBreakdown {
  PoolStream pool;
  MemoryBreakdown parts;
};

/// Of an active block. `settings` are those under which the memory came about: they decide what
/// rounding is.
MemoryBreakdown breakdown_of(const MapBlock& block, const Settings& settings);

MemoryBreakdown breakdown_of(const MapSegment& segment, const Settings& settings);

/// In the order in which the pools appear.
std::vector<PoolBreakdown> breakdown_by_pool(const MemoryMap& map, const Settings& settings);

}  // namespace highwater
