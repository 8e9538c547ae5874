#include "allocator/state_image.hpp"

#include <algorithm>

#include "allocator/caching_allocator.hpp"

namespace highwater {
namespace {

BlockImage image_of(const Block& block) {
  return {block.address, block.size,       block.requested, block.rank,  block.gc_base,
          block.home,    block.expandable, block.state,     block.mapped};
}

}  // namespace

/// Blocks numbered by their age (2.12) and clocks of garbage collection only grow, and what waits
/// for other streams is numbered, too: such a state never comes back.
bool CachingAllocator::can_come_back() const {
  const bool nothing_waits = events_.empty() && uses_.empty() && deferred_.empty();
  return nothing_waits && version_->ties != TieOrder::by_block_age && !garbage_collection_active();
}

std::optional<StateImage> CachingAllocator::image() const {
  if (!can_come_back()) {
    return std::nullopt;
  }
  StateImage image;
  blocks_.for_each_chain([&](BlockId first) {
    for (BlockId id = first; id.has_value(); id = blocks_[id].next) {
      image.blocks.push_back(image_of(blocks_[id]));
    }
  });
  std::ranges::sort(image.blocks, {}, &BlockImage::address);
  image.counters = stats_.counters;
  return image;
}

}  // namespace highwater
