#include "sim/peak/blame_tracker.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

#include "sim/replay/usage_tracker.hpp"

namespace highwater {

void BlameTracker::on_decision(const Decision& decision) {
  if (decision.action == RecordedAction::segment_alloc) {
    segments_[decision.address] = pieces_.add(decision.size);
  } else if (decision.action == RecordedAction::segment_free) {
    const auto segment = segments_.find(decision.address);
    pieces_.remove(segment->second);
    segments_.erase(segment);
  } else if (decision.action == RecordedAction::free_completed) {
    const auto slot = slots_.find(decision.address.value());
    block_returned(blocks_[slot->second]);
    unused_slots_.push_back(slot->second);
    slots_.erase(slot);
  }
}

void BlameTracker::on_event(const Event& event, AllocationStatus status,
                            const Statistics& statistics) {
  if (event.kind == EventKind::alloc && status == AllocationStatus::ok) {
    const BlockId id = driver_->handle(event.allocation);
    block_handed_out(allocator_->block(id), id, event.stack);
  }
  now_ += event.is_operation() ? 1U : 0U;
  if (const Bytes reserved = statistics.current_bytes(Stat::reserved_bytes); reserved > highest_) {
    highest_ = reserved;
    peak_event_ = next_event_;
  }
  if (next_event_++ == moment_) {
    look(statistics);
  }
}

PieceId BlameTracker::segment_of(Address address) {
  return std::prev(segments_.upper_bound(address))->second;
}

void BlameTracker::block_handed_out(const Block& block, BlockId id, StackId stack) {
  if (unused_slots_.empty()) {
    unused_slots_.push_back(static_cast<std::uint32_t>(blocks_.size()));
    blocks_.emplace_back();
  }
  const std::uint32_t slot = unused_slots_.back();
  unused_slots_.pop_back();
  slots_[block.address.value()] = slot;
  ++shares_.of(stack).blocks;
  ActiveBlock& active = blocks_[slot] = {
      .stack = stack, .size = block.size, .is_paged = block.is_expandable(), .is_active = true};
  if (!active.is_paged) {
    active.front = pieces_.enter(segment_of(block.address), block.size, now_);
    return;
  }
  const AddressRange range{block.address, block.size};
  const AddressRange front = allocator_->expandable_page_at(id, range.begin);
  const AddressRange back = allocator_->expandable_page_at(id, range.end() - Bytes{1});
  active.front_page = front.begin;
  active.back_page = back.begin;
  active.front = enter_page(front, range);
  if (back.begin != front.begin) {
    active.back = enter_page(back, range);
  }
}

FreeByteShares::Part BlameTracker::enter_page(AddressRange page, AddressRange block) {
  const auto [entry, is_new] = pages_.try_emplace(page.begin.value());
  if (is_new) {
    entry->second = pieces_.add(page.size);
  }
  const Address begin = std::max(page.begin, block.begin);
  const Address end = std::min(page.end(), block.end());
  return pieces_.enter(entry->second, end - begin, now_);
}

std::uint64_t BlameTracker::leave_page(const FreeByteShares::Part& part, Address page) {
  const std::uint64_t share = pieces_.leave(part, now_);
  if (pieces_.blocks(part.piece) == 0) {
    pieces_.remove(part.piece);
    pages_.erase(page.value());
  }
  return share;
}

void BlameTracker::block_returned(ActiveBlock& block) {
  std::uint64_t& share = shares_.of(block.stack).held.byte_operations;
  const std::uint64_t front =
      block.is_paged ? leave_page(block.front, block.front_page) : pieces_.leave(block.front, now_);
  share = add_byte_operations(share, front);
  if (block.has_back()) {
    share = add_byte_operations(share, leave_page(block.back, block.back_page));
  }
  block.is_active = false;
}

/// An equal share of the piece's free bytes; the bytes left over go to the first blocks.
Bytes BlameTracker::share_now(const FreeByteShares::Part& part,
                              std::vector<std::uint64_t>& given) const {
  const std::uint64_t blocks = pieces_.blocks(part.piece);
  const std::uint64_t free = pieces_.free_bytes(part.piece).count();
  const std::uint64_t nth = given[part.piece.index()]++;
  return Bytes{free / blocks + (nth < free % blocks ? 1 : 0)};
}

void BlameTracker::look(const Statistics& statistics) {
  std::vector<std::uint64_t> given(pieces_.size());
  for (const ActiveBlock& block : blocks_) {
    if (!block.is_active) {
      continue;
    }
    Bytes pinned = share_now(block.front, given);
    if (block.has_back()) {
      pinned += share_now(block.back, given);
    }
    PinnedMemory& share = shares_.of(block.stack).held;
    share.bytes += pinned;
    share.active += block.size;
    share.pinning_blocks += pinned.count() > 0 ? 1U : 0U;
    blame_.pinned += pinned;
  }
  const Usage usage = usage_of(statistics);
  blame_.unused = usage.reserved - usage.active - blame_.pinned;
}

FragmentationBlame BlameTracker::finish() {
  for (ActiveBlock& block : blocks_) {
    if (block.is_active) {
      block_returned(block);
    }
  }
  blame_.moment = moment_.value_or(peak_event_);
  blame_.operations = now_;
  blame_.stacks = shares_.take();
  for (const PinningStack& stack : blame_.stacks) {
    blame_.byte_operations =
        add_byte_operations(blame_.byte_operations, stack.held.byte_operations);
  }
  return std::move(blame_);
}

}  // namespace highwater
