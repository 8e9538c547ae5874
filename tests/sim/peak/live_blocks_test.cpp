// Sequences: who holds what at the first moment of the highest live memory.
#include "sim/peak/live_blocks.hpp"

#include <catch2/catch.hpp>

using namespace highwater;
using namespace highwater::literals;

TEST_CASE("live blocks: holders are of the first highest moment and sum to it",
          "[sim][live_blocks]") {
  RequestTrace trace;
  trace.allocation_count = 3;
  const auto alloc = [&](std::uint32_t id, Bytes size, std::uint32_t stack) {
    trace.events.push_back({.value = size.count(),
                            .allocation = AllocationId{id},
                            .stack = StackId{stack},
                            .kind = EventKind::alloc});
  };
  const auto free = [&](std::uint32_t id) {
    trace.events.push_back({.allocation = AllocationId{id}, .kind = EventKind::free});
  };
  alloc(0, 4_MiB, 1);
  alloc(1, 6_MiB, 2);
  free(0);
  free(0);  // a second free is no operation
  alloc(2, 4_MiB, 1);
  const LiveMemory live = live_at_peak(trace);
  CHECK(live.at == 1);
  CHECK(live.total == 10_MiB);
  CHECK(live.blocks == 2);
  REQUIRE(live.holders.size() == 2);
  CHECK(live.holders[0].origin == StackId{std::uint32_t{2}});
  CHECK(live.holders[0].held + live.holders[1].held == live.total);
}
