#include "allocator/state_image.hpp"

#include <algorithm>

#include "allocator/caching_allocator.hpp"

namespace highwater {

/// Blocks numbered by their age (2.12) and clocks of garbage collection only grow, and what waits
/// for other streams is numbered, too: such a state never comes back.
bool CachingAllocator::can_come_back() const {
  return uses_.empty() && version_->ties != TieOrder::by_block_age && !garbage_collection_active();
}

std::optional<StateImage> CachingAllocator::image() const {
  if (!can_come_back()) {
    return std::nullopt;
  }
  std::vector<BlockId> chains;
  blocks_.for_each_chain([&](BlockId first) { chains.push_back(first); });
  std::ranges::sort(chains, {}, [this](BlockId first) { return blocks_[first].address; });
  StateImage image;
  for (const BlockId first : chains) {
    for (BlockId id = first; id.has_value(); id = blocks_[id].next) {
      Block& block = image.blocks.emplace_back(blocks_[id]);
      block.prev = block.next = BlockId::none();
    }
  }
  image.counters = stats_.counters;
  return image;
}

}  // namespace highwater
