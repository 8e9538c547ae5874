#include "sim/peak/block_owners.hpp"

namespace highwater {

void BlockOwners::begin(const TraceDriver& driver, std::size_t allocations) {
  for (std::size_t i = 0; i < allocations; ++i) {
    own(driver.handle(AllocationId(i)), AllocationId(i));
  }
}

AllocationId BlockOwners::of(const MapBlock& block) const {
  const bool known = block.state != BlockState::inactive && block.handle.has_value() &&
                     block.handle.index() < owners_.size();
  return known ? owners_[block.handle.index()] : AllocationId::none();
}

void BlockOwners::own(BlockId handle, AllocationId allocation) {
  if (!handle.has_value()) {
    return;
  }
  if (handle.index() >= owners_.size()) {
    owners_.resize(handle.index() + 1);
  }
  owners_[handle.index()] = allocation;
}

}  // namespace highwater
