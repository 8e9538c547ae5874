#include "sim/recordings/older_blocks.hpp"

#include <boost/unordered/unordered_flat_set.hpp>

namespace highwater {
namespace {

using Addresses = boost::unordered_flat_set<std::uint64_t>;

/// False where such entries were not recorded (skip_actions).
bool has_free_requests(const RecordedDevice& device) {
  for (const RecordedEntry& entry : device.entries) {
    if (entry.action == RecordedAction::free_requested) {
      return true;
    }
  }
  return false;
}

/// Of the entries; adds to `mentioned` every block that they name.
void add_completed(const RecordedDevice& device, Addresses& mentioned,
                   std::vector<OlderBlock>& pending) {
  const bool tells_requests = has_free_requests(device);
  for (std::size_t i = 0; i < device.entries.size(); ++i) {
    const RecordedEntry& entry = device.entries[i];
    const bool completes = entry.action == RecordedAction::free_completed;
    if (!completes && entry.action != RecordedAction::alloc &&
        entry.action != RecordedAction::free_requested) {
      continue;
    }
    const bool is_new = mentioned.insert(entry.address.value()).second;
    if (completes && is_new && tells_requests && i != 0) {  // the first one's may be cut off
      pending.push_back({entry.address, entry.size, std::nullopt, {}, StackId::none()});
    }
  }
}

}  // namespace

std::vector<OlderBlock> older_pending_blocks(const RecordedDevice& device) {
  Addresses mentioned;
  std::vector<OlderBlock> pending;
  add_completed(device, mentioned, pending);
  for (const RecordedSegment& segment : device.segments) {
    for (const RecordedBlock& block : segment.blocks) {
      if (block.state == BlockState::active_pending_free &&
          !mentioned.contains(block.address.value())) {
        pending.push_back({block.address, block.requested, block.size, {}, block.stack});
      }
    }
  }
  return pending;
}

FinalBlocks::FinalBlocks(const RecordedDevice& device) {
  for (const RecordedSegment& segment : device.segments) {
    for (const RecordedBlock& block : segment.blocks) {
      if (block.state != BlockState::inactive) {
        in_order_.push_back(&block);
        by_address_[block.address.value()] = &block;
      }
    }
  }
}

const RecordedBlock* FinalBlocks::at(Address address) const {
  const auto found = by_address_.find(address.value());
  return found == by_address_.end() ? nullptr : found->second;
}

}  // namespace highwater
