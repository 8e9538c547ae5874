// Corrections: after a decision that differed from a recording, the model is brought back in line
// with it. Not part of PyTorch; it serves fidelity scores, where one wrong decision should count
// once and not again for everything that follows.
#include <utility>

#include "allocator/caching_allocator.hpp"

namespace highwater {

BlockId CachingAllocator::move_block(BlockId id, Address address) {
  const Block moved = blocks_[id];
  const AddressRange wanted{address, moved.size};
  BlockId target;
  blocks_.for_each_chain([&](BlockId first) {
    for (BlockId at = first; at.has_value(); at = blocks_[at].next) {
      const Block& block = blocks_[at];
      if (block.mapped && block.is_free() && block.home == moved.home &&
          block.address <= wanted.begin && wanted.end() <= block.end()) {
        target = at;
      }
    }
  });
  if (!target.has_value()) {
    return BlockId::none();
  }
  uncache(target);
  if (blocks_[target].address < address) {
    const BlockId rest = split(target, address - blocks_[target].address);
    uncache(rest);
    cache(target);
    target = rest;
  }
  const PoolKind kind = moved.kind();
  if (should_split(kind, moved.size, blocks_[target].size - moved.size, settings_)) {
    split(target, moved.size);
  }
  Block& block = blocks_[target];
  block.state = BlockState::active_allocated;
  block.requested = moved.requested;
  account_handed_out(block);
  DecisionListener* const listener = std::exchange(listener_, nullptr);
  free(id);
  listener_ = listener;
  return target;
}

void CachingAllocator::add_segment(AddressRange segment, StreamId stream, PoolKind kind) {
  Block block;
  block.address = segment.begin;
  block.size = segment.size;
  block.home = &default_pools_.of(kind).of(stream);
  block.rank = ranks_.of_segment(segment);
  stats_.increase(Stat::segment, kind, 1);
  account_new_memory(block, block.size);
  cache(blocks_.add(block));
}

bool CachingAllocator::drop_segment(Address address) {
  BlockId found;
  blocks_.for_each_chain([&](BlockId first) {
    const Block& block = blocks_[first];
    if (block.address == address && block.is_free() && !block.is_split() &&
        !block.is_expandable()) {
      found = first;
    }
  });
  if (found.has_value()) {
    DecisionListener* const listener = std::exchange(listener_, nullptr);
    release_fixed(found);
    listener_ = listener;
  }
  return found.has_value();
}

}  // namespace highwater
