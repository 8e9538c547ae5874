// What reserved memory consists of: every part on a map small enough to count by hand.
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

MemoryBreakdown sum_of(const MemoryMap& map, const Settings& settings) {
  MemoryBreakdown sum;
  for (const PoolBreakdown& pool : breakdown_by_pool(map, settings)) {
    sum += pool.parts;
  }
  return sum;
}

}  // namespace

TEST_CASE("memory breakdown: rounding, tails, waiting blocks and free memory are told apart",
          "[sim][breakdown]") {
  MemoryMap map;
  map.segments = {
      segment(20_MiB, kMain, PoolKind::large,
              {used(4_MiB, Bytes{(4 << 20) - 100}), waiting(2_MiB), unused(14_MiB)}),
      segment(20_MiB, kMain, PoolKind::large, {unused(20_MiB)}),
      segment(4_MiB, kMain, PoolKind::large, {used(4_MiB, Bytes{(3 << 20) + 1})}),
      segment(2_MiB, kSide, PoolKind::small, {used(Bytes{512}, Bytes{4}), unused(Bytes{2096640})}),
  };
  const MemoryBreakdown all = sum_of(map, Settings{});
  CHECK(all.requested == Bytes{(4 << 20) - 100 + (3 << 20) + 1 + 4});
  CHECK(all.rounding == Bytes{100 + 511 + 508});
  CHECK(all.tails == Bytes{(1 << 20) - 512});
  CHECK(all.waiting == 2_MiB);
  const std::vector<PoolBreakdown> pools = breakdown_by_pool(map, Settings{});
  REQUIRE(pools.size() == 2);
  CHECK(pools[0].parts.in_use() == 10_MiB);
  CHECK(pools[0].parts.free_in_split == 14_MiB);
  CHECK(pools[0].parts.free_whole == 20_MiB);
  CHECK(pools[1].pool.stream == kSide);
  CHECK(pools[1].parts.free_in_split == Bytes{2096640});
  CHECK(all.total() == 46_MiB);
}

TEST_CASE("memory breakdown: rounding follows the settings", "[sim][breakdown]") {
  MemoryMap map;
  map.segments = {segment(20_MiB, kMain, PoolKind::large, {used(12_MiB, 9_MiB), unused(8_MiB)})};
  Settings settings;
  settings.roundup_power2_divisions.fill(2);  // 9 MiB -> 12 MiB
  CHECK(sum_of(map, settings).rounding == 3_MiB);
  CHECK(sum_of(map, settings).tails == 0_B);
  CHECK(sum_of(map, Settings{}).rounding == 0_B);
  CHECK(sum_of(map, Settings{}).tails == 3_MiB);
}
