#include "sim/peak/live_blocks.hpp"

#include <algorithm>
#include <utility>

namespace highwater {
namespace {

/// The first event after which most bytes are alive; 0 for a trace without allocations.
std::size_t peak_event(const RequestTrace& trace) {
  std::vector<Bytes> alive(trace.allocation_count);  // 0 when not alive
  Bytes total;
  Bytes highest;
  std::size_t at = 0;
  std::size_t index = 0;
  for (const Event& event : trace.events) {
    if (event.kind == EventKind::alloc) {
      alive[event.allocation.index()] = event.bytes();
      total += event.bytes();
    } else if (event.kind == EventKind::free) {
      total -= std::exchange(alive[event.allocation.index()], Bytes{});
    }
    if (total > highest) {
      highest = total;
      at = index;
    }
    ++index;
  }
  return at;
}

}  // namespace

LiveMemory live_at_peak(const RequestTrace& trace) {
  return live_at(trace, peak_event(trace));
}

LiveMemory live_at(const RequestTrace& trace, std::size_t event) {
  LiveMemory live;
  live.at = event;
  HolderSums<StackId> sums;
  for (const LiveBlock& block : live_blocks_at(trace, event)) {
    sums.add(block.stack, block.bytes);
    live.total += block.bytes;
    ++live.blocks;
  }
  live.holders = sums.largest_first();
  return live;
}

std::vector<LiveBlock> live_blocks_at(const RequestTrace& trace, std::size_t event) {
  // Backwards, so that a block's free is known before its allocation; its phase is the marker that
  // comes next.
  std::vector<bool> is_freed(trace.allocation_count);
  std::vector<LiveBlock> blocks;
  std::size_t without_phase = 0;
  for (std::size_t i = std::min(event + 1, trace.events.size()); i-- > 0;) {
    const Event& past = trace.events[i];
    if (past.kind == EventKind::free) {
      is_freed[past.allocation.index()] = true;
    } else if (past.kind == EventKind::alloc && !is_freed[past.allocation.index()]) {
      blocks.push_back({past.allocation, past.stack, past.bytes(), past.category, {}});
    } else if (past.kind == EventKind::phase) {
      for (; without_phase < blocks.size(); ++without_phase) {
        blocks[without_phase].phase = past.text();
      }
    }
  }
  std::ranges::sort(blocks, {}, &LiveBlock::allocation);
  return blocks;
}

}  // namespace highwater
