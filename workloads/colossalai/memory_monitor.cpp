#include "workloads/colossalai/memory_monitor.hpp"

#include <algorithm>

namespace highwater::dist {

namespace {

constexpr std::int64_t kBlock = 512;

std::int64_t rounded_to_blocks(std::uint64_t bytes) {
  return (static_cast<std::int64_t>(bytes) + kBlock - 1) / kBlock * kBlock;
}

}  // namespace

void MemoryMonitor::reset_peak() {
  read_new_events();
  peak_ = allocated_;
}

std::int64_t MemoryMonitor::peak() {
  read_new_events();
  return peak_;
}

void MemoryMonitor::read_new_events() {
  const ChunkedVector<Event>& events = runtime_.events();
  for (; read_ < events.size(); ++read_) {
    const Event& event = events[read_];
    if (event.kind == EventKind::alloc) {
      sizes_.resize(std::max(sizes_.size(), event.allocation.index() + 1));
      sizes_[event.allocation.index()] = rounded_to_blocks(event.value);
      allocated_ += sizes_[event.allocation.index()];
      peak_ = std::max(peak_, allocated_);
    } else if (event.kind == EventKind::free) {
      allocated_ -= sizes_[event.allocation.index()];
    }
  }
}

}  // namespace highwater::dist
