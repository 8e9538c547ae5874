// Failing device calls: each cudaMalloc and each mapping of pages is made to fail in turn.
//
// What the allocator then does is the ladder of DeviceCachingAllocator::malloc in
// c10/cuda/CUDACachingAllocator.cpp, PyTorch 2.6.0: alloc_block; release_available_cached_blocks
// (oversize blocks) and alloc_block; release_cached_blocks, unless a graph is being captured, and
// alloc_block as a retry; out of memory.
#include <array>
#include <string>

#include <catch2/catch.hpp>

#include "allocator/caching_allocator.hpp"
#include "tests/support/allocator_under_test.hpp"
#include "tests/support/model_and_oracle.hpp"
#include "tests/support/program_runner.hpp"

namespace highwater {
namespace {

using namespace literals;

constexpr DeviceFault failing(DeviceCall call, std::uint64_t first, std::uint64_t count = 1) {
  return {call, first, count};
}

TEST_CASE("device failures: a refused cudaMalloc costs the cache, not the request",
          "[allocator][device]") {
  AllocatorUnderTest under_test({.fault = failing(DeviceCall::allocate, 2)});
  under_test.alloc("a", 30_MiB);
  under_test.free("a");
  under_test.alloc("b", 40_MiB);
  CHECK(under_test.picture() == "[b:40M]");
  CHECK(under_test.stats().counters.num_alloc_retries == 1);
  CHECK(under_test.stats().counters.num_ooms == 0);
}

TEST_CASE("device failures: a request that is refused twice changes nothing else",
          "[allocator][device]") {
  AllocatorUnderTest under_test({.fault = failing(DeviceCall::allocate, 2, 2)});
  under_test.alloc("a", 30_MiB);
  CHECK(under_test.runs_out(40_MiB));
  CHECK(under_test.picture() == "[a:30M]");
  CHECK(under_test.model().last_out_of_memory().segment_size == 40_MiB);
  CHECK(under_test.stats().counters.num_alloc_retries == 1);
  CHECK(under_test.stats().counters.num_ooms == 1);
  under_test.alloc("b", 40_MiB);
  CHECK(under_test.picture() == "[a:30M] [b:40M]");
}

// release_available_cached_blocks: its second attempt does not count as a retry.
TEST_CASE("device failures: oversize blocks are released before the rest of the cache",
          "[allocator][device]") {
  const auto [failures, picture, retries] = GENERATE(table<std::uint64_t, std::string, int>({
      {1, "[free:2M] [b:30M]", 0},
      {2, "[b:30M]", 1},
  }));
  AllocatorUnderTest under_test(
      {.conf = "max_split_size_mb:25", .fault = failing(DeviceCall::allocate, 3, failures)});
  under_test.alloc("small", 1_KiB);
  under_test.alloc("a", 60_MiB);
  under_test.free("small");
  under_test.free("a");
  under_test.alloc("b", 30_MiB);
  CHECK(under_test.picture() == picture);
  CHECK(under_test.stats().counters.num_alloc_retries == retries);
}

TEST_CASE("device failures: an open pool keeps 2.6 from releasing the cache",
          "[allocator][device]") {
  const auto [torch, runs_out, held] = GENERATE(table<std::string, bool, Bytes>({
      {"2.6", true, 30_MiB},
      {"2.13", false, 40_MiB},
  }));
  AllocatorUnderTest under_test({.torch = torch, .fault = failing(DeviceCall::allocate, 2)});
  under_test.alloc("a", 30_MiB);
  under_test.free("a");
  REQUIRE(under_test.model().begin_pool({1, 0}) == PoolCall::ok);
  CHECK(under_test.runs_out(40_MiB) == runs_out);
  CHECK(under_test.stats().current_bytes(Stat::reserved_bytes) == held);
  CHECK(under_test.stats().counters.num_alloc_retries == (runs_out ? 0 : 1));
  REQUIRE(under_test.model().end_pool({1, 0}) == PoolCall::ok);
  under_test.alloc("b", 50_MiB);
}

TEST_CASE("device failures: a pool for use on out of memory serves before the cache goes",
          "[allocator][device]") {
  AllocatorUnderTest under_test({.torch = "2.11", .fault = failing(DeviceCall::allocate, 3)});
  under_test.alloc("a", 20_MiB);
  under_test.free("a");
  REQUIRE(under_test.model().begin_pool({0, 1}, {.use_on_oom = true}) == PoolCall::ok);
  under_test.alloc("p", 40_MiB);
  REQUIRE(under_test.model().end_pool({0, 1}) == PoolCall::ok);
  under_test.free("p");
  under_test.alloc("b", 30_MiB);
  CHECK(under_test.picture() == "[free:20M] [b:30M free:10M]");
  CHECK(under_test.stats().counters.num_alloc_retries == 0);
}

// try_allocate_expandable_block and ExpandableSegment::map.
TEST_CASE("device failures: the reservation outlives a mapping that fails", "[allocator][device]") {
  AllocatorUnderTest under_test(
      {.conf = "expandable_segments:True", .fault = failing(DeviceCall::map, 1, 2)});
  CHECK(under_test.runs_out(30_MiB));
  CHECK(under_test.picture().empty());
  under_test.alloc("a", 30_MiB);
  under_test.alloc("b", 30_MiB);
  CHECK(under_test.picture() == "~[a:30M b:30M]");
  CHECK(under_test.stats().counters.segment_map == 2);
}

TEST_CASE("device failures: pages mapped before the failure stay until the cache is released",
          "[allocator][device]") {
  const auto [failures, picture, mapped] = GENERATE(table<std::uint64_t, std::string, int>({
      {1, "~[a:10M d:90M]", 5},
      {2, "~[a:10M free:10M]", 4},
  }));
  AllocatorUnderTest under_test(
      {.conf = "expandable_segments:True", .fault = failing(DeviceCall::map, 5, failures)});
  under_test.alloc("a", 10_MiB);
  under_test.alloc("b", 50_MiB);
  under_test.alloc("c", 10_MiB);
  under_test.free("b");
  REQUIRE(under_test.model().empty_cache());
  under_test.free("c");
  REQUIRE(under_test.picture() == "~[a:10M free:10M] ~[free:20M]");  // 40 MiB unmapped between
  if (failures == 1) {
    under_test.alloc("d", 90_MiB);
  } else {
    CHECK(under_test.runs_out(90_MiB));
  }
  CHECK(under_test.picture() == picture);
  CHECK(under_test.stats().counters.segment_map == mapped);
  CHECK(under_test.stats().counters.segment_unmap == 2);
  CHECK(under_test.stats().counters.num_alloc_retries == 1);
}

}  // namespace
}  // namespace highwater

namespace highwater::program {
namespace {

constexpr std::size_t kShortLength = 100;   // instructions of a program
constexpr std::uint64_t kFewPrograms = 10;  // of each profile
constexpr std::uint64_t kMostFailures = 3;  // in a row: beyond every attempt of one request

constexpr std::array kFailureProfiles{
    Profile{.name = "fixed", .streams = 2},
    Profile{.name = "split limit", .sizes = Sizes::large, .room = Room::tight, .max_split = true},
    Profile{.name = "garbage collection",
            .room = Room::tight,
            .streams = 2,
            .max_split = true,
            .garbage_collection = true},
    Profile{.name = "pools", .streams = 2, .pools = Pools::released},
    Profile{.name = "expandable", .streams = 2, .expandable = true},
    Profile{.name = "expandable tight",
            .sizes = Sizes::large,
            .room = Room::tight,
            .pools = Pools::kept,
            .garbage_collection = true,
            .expandable = true},
    Profile{.name = "expandable toggled",
            .room = Room::tight,
            .expandable = true,
            .toggles_expandable = true},
};

/// What a failing call may change in the course of a program.
struct Course {
  std::uint64_t calls = 0;  ///< of the device, of one kind
  std::int64_t retries = 0;
  std::int64_t ooms = 0;
};

Course course_of(const Program& program, DeviceCall call) {
  Runner<CachingAllocator> runner(program);
  for (const Instruction& instruction : program.instructions) {
    runner.step(instruction);
  }
  const Counters& counters = runner.allocator().statistics().counters;
  return {runner.device().calls(call), counters.num_alloc_retries, counters.num_ooms};
}

/// Lets each call of `program` fail in turn, with or without some that follow it; adds up in how
/// many of these runs there were more retries and more failed requests.
Course fail_each_call(const Profile& profile, std::uint64_t seed, DeviceCall call) {
  Program program = generate(profile, seed, kShortLength);
  const Course without = course_of(program, call);
  Course more;
  for (std::uint64_t n = 1; n <= without.calls; ++n) {
    program.fault = DeviceFault{call, n, 1 + n % kMostFailures};
    if (problem_of(program, 1)) {
      FAIL(report(profile, seed, program));
    }
    const Course with = course_of(program, call);
    more.retries += with.retries > without.retries ? 1 : 0;
    more.ooms += with.ooms > without.ooms ? 1 : 0;
  }
  return more;
}

TEST_CASE("device failures: model and oracle agree whichever call fails",
          "[allocator][device][property]") {
  const auto call = GENERATE(DeviceCall::allocate, DeviceCall::map);
  Course more;
  for (const Profile& profile : kFailureProfiles) {
    for (std::uint64_t seed = 1; seed <= kFewPrograms; ++seed) {
      const Course of_program = fail_each_call(profile, seed, call);
      more.retries += of_program.retries;
      more.ooms += of_program.ooms;
    }
  }
  CHECK(more.retries > 100);
  CHECK(more.ooms > 100);
}

}  // namespace
}  // namespace highwater::program
