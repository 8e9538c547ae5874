#include "allocator/state_image.hpp"

#include <algorithm>

#include "allocator/caching_allocator.hpp"

namespace highwater {

/// Blocks numbered by their age (2.12) and clocks of garbage collection only grow: such a state
/// never comes back. Blocks freed in a session wait for its end.
bool CachingAllocator::can_come_back() const {
  return deferred_.empty() && version_->ties != TieOrder::by_block_age &&
         !garbage_collection_active();
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
      if (const auto uses = uses_.find(id); uses != uses_.end()) {
        image.uses.push_back(uses->second);
      }
    }
  }
  const auto addresses = [this](const StreamEvents::Queues& queues) {
    StateImage::Waiting waiting;
    for (const auto& [stream, blocks] : queues) {
      for (const BlockId id : blocks) {
        waiting[stream].push_back(blocks_[id].address);
      }
    }
    return waiting;
  };
  image.recorded = addresses(events_.recorded());
  image.completed = addresses(events_.completed());
  image.counters = stats_.counters;
  return image;
}

}  // namespace highwater
