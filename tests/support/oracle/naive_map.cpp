// The picture of everything that is held.
#include "tests/support/oracle/naive_allocator.hpp"

namespace highwater::oracle {
namespace {

BlockState state_of(const NaiveBlock& block) {
  if (block.allocated) {
    return BlockState::active_allocated;
  }
  return block.is_free() ? BlockState::inactive : BlockState::active_pending_free;
}

MapBlock picture_of(const NaiveBlock& block) {
  MapBlock picture;
  picture.address = block.address;
  picture.size = block.size;
  picture.state = state_of(block);
  picture.requested = picture.state == BlockState::inactive ? Bytes{} : block.requested;
  return picture;
}

MapSegment segment_from(const NaiveBlock& first) {
  MapSegment segment;
  segment.address = first.address;
  segment.stream = first.stream;
  segment.kind = first.pool->kind;
  segment.is_expandable = first.reservation != nullptr;
  segment.owner = first.pool->owner != nullptr ? first.pool->owner->id : PoolId{};
  for (const NaiveBlock* block = &first; block != nullptr && block->mapped; block = block->next) {
    segment.blocks.push_back(picture_of(*block));
    segment.size += block->size;
  }
  segment.reservation = segment.is_expandable ? first.reservation->range : segment.range();
  return segment;
}

}  // namespace

MemoryMap NaiveAllocator::memory_map() const {
  MemoryMap map;
  for (const auto& [address, first] : segments_) {
    const NaiveBlock* before = nullptr;
    for (const NaiveBlock* block = first; block != nullptr; before = block, block = block->next) {
      if (block->mapped && (before == nullptr || !before->mapped)) {
        map.segments.push_back(segment_from(*block));
      }
    }
  }
  return map;
}

Address NaiveAllocator::segment_start(const NaiveBlock* block) const {
  while (block->prev != nullptr && block->prev->mapped) {
    block = block->prev;
  }
  return block->address;
}

}  // namespace highwater::oracle
