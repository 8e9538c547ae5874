// Where reserved memory goes: every part on a map small enough to count by hand.
#include "sim/peak/memory_breakdown.hpp"

#include <catch2/catch.hpp>

using namespace highwater;
using namespace highwater::literals;

namespace {

MapSegment segment(Bytes size, StreamId stream, PoolKind kind, std::vector<MapBlock> blocks) {
  MapSegment result;
  result.size = size;
  result.stream = stream;
  result.kind = kind;
  result.blocks = std::move(blocks);
  return result;
}

MapBlock used(Bytes size, Bytes requested) {
  return {Address{}, size, requested, BlockState::active_allocated, BlockId{1U}};
}

MapBlock waiting(Bytes size) {
  return {Address{}, size, size, BlockState::active_pending_free, BlockId{2U}};
}

MapBlock unused(Bytes size) {
  return {Address{}, size, 0_B, BlockState::inactive, {}};
}

const StreamId kMain{0U};
const StreamId kSide{1U};

}  // namespace

TEST_CASE("memory anatomy: rounding, tails, waiting blocks and free memory are told apart",
          "[sim][anatomy]") {
  MemoryMap map;
  map.segments = {
      segment(20_MiB, kMain, PoolKind::large,
              {used(4_MiB, Bytes{(4 << 20) - 100}), waiting(2_MiB), unused(14_MiB)}),
      segment(20_MiB, kMain, PoolKind::large, {unused(20_MiB)}),
      segment(4_MiB, kMain, PoolKind::large, {used(4_MiB, Bytes{(3 << 20) + 1})}),
      segment(2_MiB, kSide, PoolKind::small, {used(Bytes{512}, Bytes{4}), unused(Bytes{2096640})}),
  };
  const MemoryAnatomy anatomy = anatomy_of(map, Settings{});
  CHECK(anatomy.requested == Bytes{(4 << 20) - 100 + (3 << 20) + 1 + 4});
  CHECK(anatomy.rounding == Bytes{100 + 511 + 508});
  CHECK(anatomy.split_tails == Bytes{(1 << 20) - 512});
  CHECK(anatomy.awaiting == 2_MiB);
  REQUIRE(anatomy.pools.size() == 2);
  CHECK(anatomy.pools[0].active == 10_MiB);
  CHECK(anatomy.pools[0].fragments == 14_MiB);
  CHECK(anatomy.pools[0].unused_segments == 20_MiB);
  CHECK(anatomy.pools[1].stream == kSide);
  CHECK(anatomy.pools[1].fragments == Bytes{2096640});
  CHECK(anatomy.reserved() == 46_MiB);
}

TEST_CASE("memory anatomy: rounding follows the settings", "[sim][anatomy]") {
  MemoryMap map;
  map.segments = {segment(20_MiB, kMain, PoolKind::large, {used(12_MiB, 9_MiB), unused(8_MiB)})};
  Settings settings;
  settings.roundup_power2_divisions.fill(2);  // 9 MiB -> 12 MiB
  CHECK(anatomy_of(map, settings).rounding == 3_MiB);
  CHECK(anatomy_of(map, settings).split_tails == 0_B);
  CHECK(anatomy_of(map, Settings{}).rounding == 0_B);
  CHECK(anatomy_of(map, Settings{}).split_tails == 3_MiB);
}
