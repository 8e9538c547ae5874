// The picture of a state, the start from one, and the account of a failed request.
#include <algorithm>
#include <array>

#include <catch2/catch.hpp>

#include "allocator/invariants.hpp"
#include "tests/support/allocator_under_test.hpp"
#include "tests/support/program.hpp"
#include "tests/support/program_runner.hpp"

namespace highwater {
namespace {

using namespace literals;

constexpr StreamId kFirstStream{std::uint32_t{0}};
constexpr StreamId kSecondStream{std::uint32_t{1}};

TEST_CASE("map: the account of a failure adds up by pool and stream", "[allocator][map]") {
  AllocatorUnderTest under_test({.capacity = 100_MiB});
  under_test.alloc("small", 1_KiB);
  for (const char* name : {"a", "b", "c"}) {
    under_test.alloc(name, 4_MiB);
  }
  under_test.alloc("other stream", 30_MiB - 1_B, 1);
  under_test.record_stream("a", 1);
  under_test.free("a");
  under_test.free("b");
  REQUIRE(under_test.model().begin_pool({1, 0}) == PoolCall::ok);  // so that a stays pending
  under_test.alloc("private", 1_KiB, 1);
  REQUIRE(under_test.runs_out(60_MiB - 1_B, 1));
  const OutOfMemory& oom = under_test.model().last_out_of_memory();
  CHECK(oom.requested == 60_MiB - 1_B);
  CHECK(oom.rounded == 60_MiB);
  CHECK(oom.segment_size == 60_MiB);
  CHECK(oom.stream == kSecondStream);
  CHECK(oom.device_free == 46_MiB);
  CHECK(oom.device_total == 100_MiB);
  CHECK(oom.allowed == kUnlimited);
  CHECK(oom.reserved == 54_MiB);
  CHECK(oom.allocated == 34_MiB + 2_KiB);
  CHECK(oom.active == 38_MiB + 2_KiB);
  CHECK(oom.largest_free_block == 8_MiB);
  CHECK(oom.largest_usable_free_block == 0_B);  // the open pool has no large one
  REQUIRE(oom.pools.size() == 4);
  CHECK(oom.pools[0].kind == PoolKind::small);
  CHECK(oom.pools[0].free == 2_MiB - 1_KiB);
  CHECK(oom.pools[1].kind == PoolKind::large);
  CHECK(oom.pools[1].stream == kFirstStream);
  CHECK(oom.pools[1].reserved == 20_MiB);
  CHECK(oom.pools[1].allocated == 4_MiB);
  CHECK(oom.pools[1].pending_free == 4_MiB);
  CHECK(oom.pools[1].free == 12_MiB);
  CHECK(oom.pools[1].largest_free_block == 8_MiB);
  CHECK(oom.pools[2].stream == kSecondStream);
  CHECK(oom.pools[2].allocated == 30_MiB);
  CHECK(oom.pools[2].owner.is_default());
  CHECK(oom.pools[3].owner == PoolId{1, 0});
  CHECK(oom.pools[3].stream == kSecondStream);
  CHECK(oom.pools[3].reserved == 2_MiB);
}

TEST_CASE("map: the account knows the limit and what the request's own pool had free",
          "[allocator][map]") {
  AllocatorUnderTest under_test(
      {.conf = "expandable_segments:True", .capacity = 100_MiB, .fraction = 0.5});
  under_test.alloc("a", 10_MiB);
  REQUIRE(under_test.runs_out(60_MiB));
  const OutOfMemory& oom = under_test.model().last_out_of_memory();
  CHECK(oom.allowed == 50_MiB);
  CHECK(oom.largest_usable_free_block == 10_MiB);
  REQUIRE(oom.pools.size() == 1);
  CHECK(oom.pools[0].reserved == 20_MiB);  // the address space behind it is not memory
}

TEST_CASE("map: the page and the segment of an expandable block", "[allocator][map]") {
  AllocatorUnderTest under_test({.conf = "expandable_segments:True"});
  under_test.alloc("a", 15_MiB);
  under_test.alloc("b", 15_MiB);
  CachingAllocator& model = under_test.model();
  const BlockId b = under_test.handle("b");
  const Address start = model.segment_start(b);
  CHECK(start == model.block(under_test.handle("a")).address);
  CHECK(model.expandable_page_at(b, start + 19_MiB) == AddressRange{start, 20_MiB});
  CHECK(model.expandable_page_at(b, start + 20_MiB) == AddressRange{start + 20_MiB, 20_MiB});
}

}  // namespace
}  // namespace highwater

namespace highwater::program {
namespace {

/// Without a second stream, so that no freed block waits: after a start it would be in use.
constexpr std::array kStates{
    Profile{.name = "fixed", .sizes = Sizes::mixed, .max_split = true},
    Profile{.name = "pools", .pools = Pools::kept},
    Profile{.name = "expandable", .sizes = Sizes::large, .room = Room::tight, .expandable = true},
    Profile{.name = "expandable pools", .pools = Pools::kept, .expandable = true},
    Profile{.name = "expandable split limit", .max_split = true, .expandable = true},
    Profile{.name = "toggled", .room = Room::tight, .toggles_expandable = true},
};

/// What the statistics say now, without the past.
std::vector<std::int64_t> present(const Statistics& stats) {
  std::vector<std::int64_t> values{stats.oversize_allocations.current,
                                   stats.oversize_segments.current};
  for (std::size_t i = 0; i < kStatCount; ++i) {
    for (const PoolKind kind : {PoolKind::small, PoolKind::large}) {
      values.push_back(stats.of(static_cast<Stat>(i), kind).current);
    }
  }
  return values;
}

/// Gives everything back that `allocator` holds.
void give_back(CachingAllocator& allocator, const std::vector<BlockId>& handles,
               const MemoryMap& map) {
  for (const BlockId handle : handles) {
    if (handle.has_value()) {
      allocator.free(handle);
    }
  }
  for (const MapSegment& segment : map.segments) {
    if (!segment.owner.is_default()) {
      allocator.release_pool(segment.owner);  // once; after that it is refused
    }
  }
  allocator.empty_cache();
}

TEST_CASE("map: a state that is restored is the same and can be given back",
          "[allocator][map][property]") {
  for (const Profile& profile : kStates) {
    for (std::uint64_t seed = 1; seed <= 20; ++seed) {
      CAPTURE(profile.name, seed);
      const Program program = generate(profile, seed, 150);
      Runner<CachingAllocator> runner(program);
      for (const Instruction& instruction : program.instructions) {
        runner.step(instruction);
      }
      const CachingAllocator& original = runner.allocator();
      const MemoryMap map = original.memory_map();
      SimulatedDevice device({});
      device.allocate(original.statistics().current_bytes(Stat::reserved_bytes));
      CachingAllocator copy(device, original.settings(), original.version());

      const std::vector<BlockId> handles = copy.restore(map);
      REQUIRE(lines_of_map(copy.memory_map()) == lines_of_map(map));
      REQUIRE(check_invariants(copy.memory_map(), copy.statistics()).empty());
      CHECK(present(copy.statistics()) == present(original.statistics()));
      CHECK(copy.statistics().counters == Counters{});
      CHECK(copy.statistics().all(Stat::reserved_bytes).peak ==
            copy.statistics().current(Stat::reserved_bytes));

      give_back(copy, handles, map);
      CHECK(copy.memory_map().segments.empty());
      CHECK(device.used() == 0_B);
    }
  }
}

}  // namespace
}  // namespace highwater::program
