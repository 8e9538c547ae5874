#include "sim/peak/live_blocks.hpp"

namespace highwater {
namespace {

/// Follows allocations and frees, and keeps the live bytes after each event.
class LiveSet {
 public:
  explicit LiveSet(const RequestTrace& trace) : live_(trace.allocation_count) {}

  void apply(const Event& event) {
    if (event.kind == EventKind::phase) {
      phase_ = event.text();
    } else if (event.kind == EventKind::alloc) {
      live_[event.allocation.index()] = {event.stack, event.bytes(), event.category, phase_, true};
      total_ += event.bytes();
    } else if (event.kind == EventKind::free && live_[event.allocation.index()].is_live) {
      total_ -= live_[event.allocation.index()].bytes;
      live_[event.allocation.index()].is_live = false;
    }
  }

  [[nodiscard]] Bytes total() const { return total_; }

  [[nodiscard]] std::vector<LiveBlock> blocks() const {
    std::vector<LiveBlock> blocks;
    for (std::size_t i = 0; i < live_.size(); ++i) {
      const Allocation& allocation = live_[i];
      if (allocation.is_live) {
        blocks.push_back({AllocationId(i), allocation.stack, allocation.bytes, allocation.category,
                          allocation.phase});
      }
    }
    return blocks;
  }

 private:
  struct Allocation {
    StackId stack;
    Bytes bytes;
    Category category = Category::unknown;
    StringId phase;
    bool is_live = false;
  };

  std::vector<Allocation> live_;
  StringId phase_;
  Bytes total_;
};

std::size_t peak_event(const RequestTrace& trace) {
  LiveSet live(trace);
  Bytes highest;
  std::size_t at = 0;
  for (std::size_t i = 0; i < trace.events.size(); ++i) {
    live.apply(trace.events[i]);
    if (live.total() > highest) {
      highest = live.total();
      at = i;
    }
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
  LiveSet live(trace);
  for (std::size_t i = 0; i < trace.events.size() && i <= event; ++i) {
    live.apply(trace.events[i]);
  }
  return live.blocks();
}

}  // namespace highwater
