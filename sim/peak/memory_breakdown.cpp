#include "sim/peak/memory_breakdown.hpp"

#include <algorithm>

namespace highwater {

MemoryBreakdown& MemoryBreakdown::operator+=(const MemoryBreakdown& other) {
  requested += other.requested;
  rounding += other.rounding;
  tails += other.tails;
  waiting += other.waiting;
  free_in_split += other.free_in_split;
  free_whole += other.free_whole;
  passing += other.passing;
  return *this;
}

MemoryBreakdown breakdown_of(const MapBlock& block, const Settings& settings) {
  MemoryBreakdown parts;
  if (block.state == BlockState::active_pending_free) {
    parts.waiting = block.size;
    return parts;
  }
  const Bytes rounded = std::min(round_size(block.requested, settings), block.size);
  parts.requested = block.requested;
  parts.rounding = rounded - block.requested;
  parts.tails = block.size - rounded;
  return parts;
}

MemoryBreakdown breakdown_of(const MapSegment& segment, const Settings& settings) {
  MemoryBreakdown parts;
  for (const MapBlock& block : segment.blocks) {
    if (block.state != BlockState::inactive) {
      parts += breakdown_of(block, settings);
    }
  }
  const Bytes used = parts.in_use();
  (used == Bytes{} ? parts.free_whole : parts.free_in_split) = segment.size - used;
  return parts;
}

std::vector<PoolBreakdown> breakdown_by_pool(const MemoryMap& map, const Settings& settings) {
  std::vector<PoolBreakdown> pools;
  for (const MapSegment& segment : map.segments) {
    const PoolStream pool{segment.owner, segment.kind, segment.stream};
    auto found = std::ranges::find(pools, pool, &PoolBreakdown::pool);
    if (found == pools.end()) {
      found = pools.insert(found, {pool, {}});
    }
    found->parts += breakdown_of(segment, settings);
  }
  return pools;
}

}  // namespace highwater
