#include "workloads/deepspeed/free_memory.hpp"

#include <algorithm>
#include <vector>

#include "workloads/eager/runtime.hpp"

namespace highwater::deepspeed {
namespace {

using namespace literals;

// CUDACachingAllocator.cpp: kSmallSize, kSmallBuffer, kMinLargeAlloc, kLargeBuffer, kRoundLarge.
constexpr Bytes kSmallSize = 1_MiB;
constexpr Bytes kSmallBuffer = 2_MiB;
constexpr Bytes kMinLargeAlloc = 10_MiB;
constexpr Bytes kLargeBuffer = 20_MiB;
constexpr Bytes kRoundLarge = 2_MiB;

/// Live blocks, each rounded up to the least block, by the segments that they come from.
struct LiveBlocks {
  Bytes small;
  Bytes medium;
  Bytes large;  ///< each has a segment of its own

  void add(Bytes requested, std::uint64_t count) {
    const Bytes block = round_up(requested, Bytes{eager::kLeastBlock});
    if (block <= kSmallSize) {
      small += block * count;
    } else if (block < kMinLargeAlloc) {
      medium += block * count;
    } else {
      large += round_up(block, kRoundLarge) * count;
    }
  }

  [[nodiscard]] Bytes segments() const {
    return round_up(small, kSmallBuffer) + round_up(medium, kLargeBuffer) + large;
  }
};

LiveBlocks live_blocks(const eager::Runtime& runtime) {
  std::vector<const Event*> live(runtime.allocation_count());
  for (const Event& event : runtime.events()) {
    if (event.kind == EventKind::alloc) {
      live[event.allocation.value()] = &event;
    } else if (event.kind == EventKind::free) {
      live[event.allocation.value()] = nullptr;
    }
  }
  LiveBlocks blocks;
  for (const Event* event : live) {
    if (event != nullptr) {
      const std::uint64_t count = std::max<std::uint64_t>(event->equal_blocks(), 1);
      blocks.add(Bytes{event->value / count}, count);
    }
  }
  return blocks;
}

}  // namespace

Bytes free_memory(const eager::Runtime& runtime) {
  const Bytes room = *runtime.room;
  return room - std::min(room, live_blocks(runtime).segments());
}

}  // namespace highwater::deepspeed
