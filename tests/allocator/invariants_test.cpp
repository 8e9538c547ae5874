// The invariant check itself: it finds each kind of damage it claims to find.
#include "allocator/invariants.hpp"

#include <catch2/catch.hpp>

#include "tests/support/allocator_under_test.hpp"

using namespace highwater;
using namespace highwater::literals;

namespace {

bool finds(const MemoryMap& map, const Statistics& stats, const std::string& what) {
  for (const std::string& violation : check_invariants(map, stats)) {
    if (violation.find(what) != std::string::npos) {
      return true;
    }
  }
  return false;
}

}  // namespace

TEST_CASE("invariants: damage to the map or the statistics is found", "[allocator][invariants]") {
  AllocatorUnderTest under_test;
  under_test.alloc("a", 3_MiB);
  under_test.alloc("b", 3_MiB);
  under_test.free("a");
  MemoryMap map = under_test.model().memory_map();
  Statistics stats = under_test.stats();
  REQUIRE(check_invariants(map, stats).empty());
  std::vector<MapBlock>& blocks = map.segments[0].blocks;

  SECTION("a gap") {
    blocks[1].address = blocks[1].address + 512_B;
    CHECK(finds(map, stats, "gap or overlap"));
  }
  SECTION("two free neighbours") {
    blocks[1].state = BlockState::inactive;
    CHECK(finds(map, stats, "two free neighbours"));
  }
  SECTION("an odd block size") {
    blocks[0].size += 1_B;
    CHECK(finds(map, stats, "not a multiple of 512"));
  }
  SECTION("a block smaller than its request") {
    blocks[1].requested = 4_MiB;
    CHECK(finds(map, stats, "smaller than its request"));
  }
  SECTION("a segment that is not filled") {
    blocks.pop_back();
    CHECK(finds(map, stats, "do not fill the segment"));
  }
  SECTION("overlapping segments") {
    map.segments.push_back(map.segments[0]);
    CHECK(finds(map, stats, "overlaps"));
  }
  SECTION("a block of no size") {
    blocks[0].size = 0_B;
    CHECK(finds(map, stats, "block size 0"));
  }
  SECTION("a segment of no size") {
    map.segments[0].size = 0_B;
    CHECK(finds(map, stats, "size 0"));
  }
  SECTION("a free block that was asked for") {
    blocks[0].requested = 512_B;
    CHECK(finds(map, stats, "both free and in use"));
  }
  SECTION("a free block with a handle") {
    blocks[0].handle = blocks[1].handle;
    CHECK(finds(map, stats, "both free and in use"));
  }
  SECTION("a used block without a handle") {
    blocks[1].handle = BlockId::none();
    CHECK(finds(map, stats, "both free and in use"));
  }
  SECTION("a segment of half a MiB more") {
    map.segments[0].size += 512_KiB;
    CHECK(finds(map, stats, "not a whole number of MiB"));
  }
  SECTION("a small segment of another size") {
    map.segments[0].kind = PoolKind::small;
    CHECK(finds(map, stats, "is not 2 MiB"));
  }
  SECTION("each statistic by itself") {
    const auto stat =
        GENERATE(Stat::allocation, Stat::segment, Stat::inactive_split, Stat::allocated_bytes,
                 Stat::reserved_bytes, Stat::inactive_split_bytes, Stat::requested_bytes);
    const auto kind = GENERATE(PoolKind::small, PoolKind::large);
    stats.increase(stat, kind, 1);
    CHECK(finds(map, stats, std::string(to_string(stat)) + ": the statistics show"));
  }
  SECTION("a statistic below zero") {
    stats.decrease(Stat::segment, PoolKind::small, 1);
    CHECK(finds(map, stats, "segment: current -1"));
  }
  SECTION("a peak below the present value") {
    stats.increase(Stat::allocation, PoolKind::small, 5);
    stats.decrease(Stat::allocation, PoolKind::small, 5);
    stats.increase(Stat::allocation, PoolKind::small, 5);
    stats.decrease(Stat::allocation, PoolKind::small, -1);
    CHECK(finds(map, stats, "allocation: current 6, peak 5, allocated 10, freed 4"));
  }
  SECTION("less than nothing freed") {
    stats.decrease(Stat::allocation, PoolKind::small, -1);
    stats.increase(Stat::allocation, PoolKind::small, 1);
    CHECK(finds(map, stats, "allocation: current 2, peak 2, allocated 1, freed -1"));
  }
  SECTION("statistics that disagree with the map") {
    stats.increase(Stat::allocation, PoolKind::large, 1);
    CHECK(finds(map, stats, "allocation: the statistics show 2, the map 1"));
    CHECK(finds(map, stats, "active: the statistics show 2, the map 1"));
    stats.increase(Stat::allocated_bytes, PoolKind::large, 1);
    CHECK(finds(map, stats, "active_bytes: the statistics show 3145729, the map 3145728"));
  }
}

TEST_CASE("invariants: pages of any number of MiB are whole", "[allocator][invariants]") {
  AllocatorUnderTest under_test(
      {.conf = "large_segment_size_mb:21,expandable_segments:True", .torch = "2.11"});
  under_test.alloc("a", 3_MiB);
  CHECK(under_test.picture() == "~[a:3M free:18M]");
}
