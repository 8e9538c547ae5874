#include "sim/peak/memory_breakdown.hpp"

#include <algorithm>

namespace highwater {
namespace {

PoolShare& share_of(std::vector<PoolShare>& pools, const MapSegment& segment) {
  const auto found = std::ranges::find_if(pools, [&](const PoolShare& pool) {
    return pool.stream == segment.stream && pool.kind == segment.kind &&
           pool.owner == segment.owner;
  });
  if (found != pools.end()) {
    return *found;
  }
  return pools.emplace_back(
      PoolShare{.stream = segment.stream, .kind = segment.kind, .owner = segment.owner});
}

}  // namespace

Bytes MemoryAnatomy::reserved() const {
  Bytes sum = allocated() + awaiting;
  for (const PoolShare& pool : pools) {
    sum += pool.free();
  }
  return sum;
}

BlockAnatomy anatomy_of(const MapBlock& block, const Settings& settings) {
  BlockAnatomy anatomy;
  if (block.state == BlockState::active_pending_free) {
    anatomy.awaiting = block.size;
    return anatomy;
  }
  const Bytes rounded = std::min(round_size(block.requested, settings), block.size);
  anatomy.requested = block.requested;
  anatomy.rounding = rounded - block.requested;
  anatomy.split_tail = block.size - rounded;
  return anatomy;
}

MemoryAnatomy anatomy_of(const MemoryMap& map, const Settings& settings) {
  MemoryAnatomy anatomy;
  for (const MapSegment& segment : map.segments) {
    Bytes active;
    for (const MapBlock& block : segment.blocks) {
      if (block.state != BlockState::inactive) {
        active += block.size;
        const BlockAnatomy parts = anatomy_of(block, settings);
        anatomy.requested += parts.requested;
        anatomy.rounding += parts.rounding;
        anatomy.split_tails += parts.split_tail;
        anatomy.awaiting += parts.awaiting;
      }
    }
    PoolShare& pool = share_of(anatomy.pools, segment);
    pool.active += active;
    (active == Bytes{} ? pool.unused_segments : pool.fragments) += segment.size - active;
  }
  return anatomy;
}

}  // namespace highwater
