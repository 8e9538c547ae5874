// Sequences: short programs give the segments that the rules say, drawn as memory pictures.
// Expected pictures by hand from the rules of PyTorch 2.6.0; the real allocator's own answers are
// in tests/data/conformance.
#include <catch2/catch.hpp>

#include "tests/support/allocator_under_test.hpp"

using namespace highwater;
using namespace highwater::literals;

TEST_CASE("allocator: small requests share a 2 MiB segment", "[allocator][sequence]") {
  AllocatorUnderTest under_test;
  under_test.alloc("a", 100_B);
  under_test.alloc("b", 1_MiB);
  CHECK(under_test.picture() == "[a:512 b:1M free:1048064]");
  under_test.free("a");
  CHECK(under_test.picture() == "[free:512 b:1M free:1048064]");
  under_test.free("b");
  CHECK(under_test.picture() == "[free:2M]");
}

TEST_CASE("allocator: a remainder of 1 MiB stays with a large block", "[allocator][sequence]") {
  AllocatorUnderTest under_test;
  under_test.alloc("a", 19_MiB);
  CHECK(under_test.picture() == "[a:20M]");
  under_test.alloc("b", 3_MiB);
  CHECK(under_test.picture() == "[a:20M] [b:3M free:17M]");
}

TEST_CASE("allocator: freed neighbours merge on both sides", "[allocator][sequence]") {
  AllocatorUnderTest under_test;
  for (const char* name : {"a", "b", "c"}) {
    under_test.alloc(name, 4_MiB);
  }
  under_test.free("a");
  under_test.free("c");
  CHECK(under_test.picture() == "[free:4M b:4M free:12M]");
  under_test.free("b");
  CHECK(under_test.picture() == "[free:20M]");
}

TEST_CASE("allocator: best fit prefers the smaller hole, then the lower address",
          "[allocator][sequence]") {
  AllocatorUnderTest under_test;
  for (const char* name : {"a", "x", "b", "y", "c", "z"}) {
    under_test.alloc(name, std::string(name) == "a" ? 4_MiB : 2_MiB);
  }
  for (const char* name : {"a", "b", "c"}) {
    under_test.free(name);
  }
  under_test.alloc("n", 2_MiB);
  CHECK(under_test.picture() == "[free:4M x:2M n:2M y:2M free:2M z:2M free:6M]");
}

TEST_CASE("allocator: streams never share cached blocks", "[allocator][sequence]") {
  AllocatorUnderTest under_test;
  under_test.alloc("a", 3_MiB, 0);
  under_test.free("a");
  under_test.alloc("b", 3_MiB, 1);
  CHECK(under_test.picture() == "[free:20M] [b:3M free:17M]");
}

TEST_CASE("allocator: a block used on another stream waits for it", "[allocator][sequence]") {
  AllocatorUnderTest under_test;
  under_test.alloc("a", 20_MiB);
  under_test.record_stream("a", 1);
  under_test.free("a");
  CHECK(under_test.picture() == "[a?:20M]");
  under_test.alloc("b", 20_MiB);
  CHECK(under_test.picture() == "[a?:20M] [b:20M]");
  under_test.events_done(1);
  under_test.alloc("c", 20_MiB);
  CHECK(under_test.picture() == "[c:20M] [b:20M]");
}

TEST_CASE("allocator: record_stream on the block's own stream changes nothing",
          "[allocator][sequence]") {
  AllocatorUnderTest under_test;
  under_test.alloc("a", 20_MiB);
  under_test.record_stream("a", 0);
  under_test.free("a");
  CHECK(under_test.picture() == "[free:20M]");
}

TEST_CASE("allocator: the cache is released before an allocation fails", "[allocator][sequence]") {
  AllocatorUnderTest under_test({.capacity = 64_MiB});
  under_test.alloc("a", 30_MiB);
  under_test.free("a");
  under_test.alloc("b", 40_MiB);
  CHECK(under_test.picture() == "[b:40M]");
  CHECK(under_test.stats().counters.num_alloc_retries == 1);
  CHECK(under_test.runs_out(30_MiB));
  const OutOfMemory& oom = under_test.model().last_out_of_memory();
  CHECK(oom.device_free == 24_MiB);
  CHECK(oom.reserved == 40_MiB);
  CHECK(oom.segment_size == 30_MiB);
  CHECK(under_test.stats().counters.num_ooms == 1);
}

TEST_CASE("allocator: a memory fraction limits before the device does", "[allocator][sequence]") {
  AllocatorUnderTest under_test({.capacity = 100_MiB, .fraction = 0.5});
  under_test.alloc("a", 40_MiB);
  CHECK(under_test.runs_out(12_MiB));
  CHECK(under_test.model().last_out_of_memory().device_free == 60_MiB);
}

TEST_CASE("allocator: 2.11 takes a fraction of 1 for no limit, 2.6 for the whole device",
          "[allocator][sequence]") {
  const auto [torch, limit] =
      GENERATE(table<std::string, Bytes>({{"2.6", 100_MiB}, {"2.11", kUnlimited}}));
  AllocatorUnderTest under_test({.capacity = 100_MiB, .fraction = 1.0, .torch = torch});
  CHECK(under_test.runs_out(120_MiB));
  CHECK(under_test.model().last_out_of_memory().allowed == limit);
}

TEST_CASE("allocator: expandable segments grow by pages and split at 512 bytes",
          "[allocator][sequence]") {
  AllocatorUnderTest under_test({.conf = "expandable_segments:True"});
  under_test.alloc("a", 19_MiB);
  CHECK(under_test.picture() == "~[a:19M free:1M]");
  under_test.alloc("b", 30_MiB);
  CHECK(under_test.picture() == "~[a:19M b:30M free:11M]");
  under_test.free("a");
  under_test.free("b");
  CHECK(under_test.picture() == "~[free:60M]");
  CHECK(under_test.stats().current(Stat::segment) == 0);
}

TEST_CASE("allocator: expandable segments give whole pages back and keep the rims",
          "[allocator][sequence]") {
  AllocatorUnderTest under_test({.conf = "expandable_segments:True"});
  under_test.alloc("a", 10_MiB);
  under_test.alloc("b", 50_MiB);
  under_test.alloc("c", 10_MiB);
  under_test.free("b");
  REQUIRE(under_test.model().empty_cache());
  CHECK(under_test.picture() == "~[a:10M free:10M] ~[c:10M free:10M]");
  under_test.alloc("d", 25_MiB);
  CHECK(under_test.picture() == "~[a:10M d:25M free:5M] ~[c:10M free:10M]");
}

TEST_CASE("allocator: a private pool keeps its memory to itself", "[allocator][sequence]") {
  AllocatorUnderTest under_test;
  CachingAllocator& model = under_test.model();
  under_test.alloc("a", 20_MiB);
  under_test.free("a");
  REQUIRE(model.begin_pool({1, 0}) == PoolCall::ok);
  under_test.alloc("p", 20_MiB);
  REQUIRE(model.end_pool({1, 0}) == PoolCall::ok);
  CHECK(under_test.picture() == "[free:20M] [p:20M]");
  under_test.free("p");
  REQUIRE(model.empty_cache());
  CHECK(under_test.picture() == "[free:20M]");  // the pool's: it is still in use
  REQUIRE(model.release_pool({1, 0}) == PoolCall::ok);
  REQUIRE(model.empty_cache());
  CHECK(under_test.picture().empty());
}

TEST_CASE("allocator: blocks of a pool without splits are handed out whole",
          "[allocator][sequence]") {
  AllocatorUnderTest under_test({.torch = "2.11"});
  REQUIRE(under_test.model().begin_pool({0, 1}, {.no_split = true}) == PoolCall::ok);
  under_test.alloc("a", 4_MiB);
  under_test.alloc("b", 1_KiB);
  REQUIRE(under_test.model().end_pool({0, 1}) == PoolCall::ok);
  under_test.alloc("c", 4_MiB);
  CHECK(under_test.picture() == "[a:20M] [b:2M] [c:4M free:16M]");
}

TEST_CASE("allocator: misuse of a pool is reported, not obeyed", "[allocator][sequence]") {
  AllocatorUnderTest under_test;
  CachingAllocator& model = under_test.model();
  CHECK(model.end_pool({1, 0}) == PoolCall::unknown_pool);
  CHECK(model.release_pool({1, 0}) == PoolCall::unknown_pool);
  REQUIRE(model.begin_pool({1, 0}) == PoolCall::ok);
  CHECK(model.begin_pool({1, 0}) == PoolCall::already_open);
  REQUIRE(model.end_pool({1, 0}) == PoolCall::ok);
  CHECK(model.end_pool({1, 0}) == PoolCall::not_open);
  REQUIRE(model.release_pool({1, 0}) == PoolCall::ok);
  CHECK(model.release_pool({1, 0}) == PoolCall::pool_released);
  CHECK(model.begin_pool({1, 0}) == PoolCall::pool_released);
}

TEST_CASE("allocator: empty_cache in a session is refused by 2.6 and limited in 2.11",
          "[allocator][sequence]") {
  const auto [torch, accepted] =
      GENERATE(table<std::string, bool>({{"2.6", false}, {"2.11", true}}));
  AllocatorUnderTest under_test({.torch = torch});
  under_test.alloc("a", 20_MiB);
  under_test.free("a");
  REQUIRE(under_test.model().begin_pool({1, 0}) == PoolCall::ok);
  CHECK(under_test.model().empty_cache() == accepted);
  CHECK(under_test.picture() == "[free:20M]");
}

TEST_CASE("allocator: an open pool holds the release of cached memory back until 2.12",
          "[allocator][sequence]") {
  const auto torch = GENERATE("2.12", "2.13");
  const bool holds_back = std::string(torch) == "2.12";
  AllocatorUnderTest under_test({.capacity = 40_MiB, .torch = torch});
  under_test.alloc("a", 30_MiB);
  under_test.free("a");
  REQUIRE(under_test.model().begin_pool({1, 0}) == PoolCall::ok);
  CHECK(under_test.runs_out(20_MiB) == holds_back);
}

TEST_CASE("allocator: with two open sessions 2.6 serves the older, 2.11 the newer",
          "[allocator][sequence]") {
  const auto [torch, owner] =
      GENERATE(table<std::string, std::uint64_t>({{"2.6", 1}, {"2.11", 2}}));
  AllocatorUnderTest under_test({.torch = torch});
  REQUIRE(under_test.model().begin_pool({1, 0}) == PoolCall::ok);
  REQUIRE(under_test.model().begin_pool({2, 0}) == PoolCall::ok);
  under_test.alloc("a", 20_MiB);
  CHECK(under_test.model().memory_map().segments.front().owner.capture == owner);
}

TEST_CASE("allocator: a pool for use on out of memory serves the default pool last",
          "[allocator][sequence]") {
  AllocatorUnderTest under_test({.capacity = 60_MiB, .torch = "2.11"});
  REQUIRE(under_test.model().begin_pool({0, 1}, {.use_on_oom = true}) == PoolCall::ok);
  under_test.alloc("p", 40_MiB);
  REQUIRE(under_test.model().end_pool({0, 1}) == PoolCall::ok);
  under_test.free("p");
  under_test.alloc("a", 20_MiB);
  CHECK(under_test.picture() == "[free:40M] [a:20M]");
  under_test.alloc("b", 30_MiB);
  CHECK(under_test.picture() == "[b:30M free:10M] [a:20M]");
}

TEST_CASE("allocator: of pools for use on out of memory the first with room serves",
          "[allocator][sequence]") {
  AllocatorUnderTest under_test({.capacity = 80_MiB, .torch = "2.11"});
  CachingAllocator& model = under_test.model();
  for (const auto& [pool, size] : {std::pair{1, 20_MiB}, std::pair{2, 40_MiB}}) {
    const PoolId id{0, static_cast<std::uint64_t>(pool)};
    REQUIRE(model.begin_pool(id, {.use_on_oom = true}) == PoolCall::ok);
    under_test.alloc("p", size);
    REQUIRE(model.end_pool(id) == PoolCall::ok);
    under_test.free("p");
  }
  under_test.alloc("a", 20_MiB);
  SECTION("which may be the second") {
    under_test.alloc("b", 30_MiB);
    CHECK(under_test.picture() == "[free:20M] [b:30M free:10M] [a:20M]");
  }
  SECTION("and without room in any the request goes on as one of the default pool") {
    under_test.free("a");
    under_test.alloc("b", 10_MiB);
    CHECK(under_test.runs_out(50_MiB));
    CHECK(under_test.model().last_out_of_memory().largest_usable_free_block == 10_MiB);
  }
  SECTION("but none serves a request of another private pool") {
    REQUIRE(model.begin_pool({0, 3}) == PoolCall::ok);
    CHECK(under_test.runs_out(20_MiB));
  }
}

TEST_CASE("allocator: a capture holds cached memory back, since 2.13 nothing else does",
          "[allocator][sequence]") {
  const auto kind = GENERATE(SessionKind::routed, SessionKind::capture);
  const auto torch = GENERATE("2.12", "2.15");
  AllocatorUnderTest under_test({.capacity = 60_MiB, .torch = torch});
  under_test.alloc("a", 40_MiB);
  under_test.free("a");
  REQUIRE(under_test.model().begin_pool({1, 0}, {}, kind) == PoolCall::ok);
  if (kind == SessionKind::capture || std::string_view(torch) == "2.12") {
    CHECK(under_test.runs_out(30_MiB));
    REQUIRE(under_test.model().end_pool({1, 0}) == PoolCall::ok);
    under_test.alloc("b", 30_MiB);
    CHECK(under_test.picture() == "[b:30M free:10M]");
  } else {
    under_test.alloc("b", 30_MiB);
    CHECK(under_test.picture() == "[b:30M]");
  }
}

TEST_CASE("allocator: a pool without users serves no other requests", "[allocator][sequence]") {
  AllocatorUnderTest under_test({.capacity = 60_MiB, .torch = "2.15"});
  CachingAllocator& model = under_test.model();
  REQUIRE(model.begin_pool({0, 1}, {.use_on_oom = true}) == PoolCall::ok);
  under_test.alloc("p", 20_MiB);
  under_test.alloc("q", 20_MiB);
  REQUIRE(model.end_pool({0, 1}) == PoolCall::ok);
  under_test.free("p");
  under_test.alloc("a", 20_MiB);
  REQUIRE(model.release_pool({0, 1}) == PoolCall::ok);
  under_test.alloc("b", 20_MiB);  // after the cached segment of the pool went back
  CHECK(under_test.picture() == "[q:20M] [a:20M] [b:20M]");
}

// A request that mapped once and two ranges that were unmapped: PyTorch's count is 0.
TEST_CASE("allocator: a pool of expandable segments may be deleted while its blocks are in use",
          "[allocator][sequence]") {
  AllocatorUnderTest under_test({.conf = "expandable_segments:True", .torch = "2.15"});
  CachingAllocator& model = under_test.model();
  REQUIRE(model.begin_pool({0, 1}) == PoolCall::ok);
  under_test.alloc("p", 60_MiB);
  under_test.free("p");
  under_test.alloc("q", 20_MiB);
  REQUIRE(model.end_pool({0, 1}) == PoolCall::ok);
  REQUIRE(model.release_pool({0, 1}) == PoolCall::ok);
  REQUIRE(model.begin_pool({0, 1}) == PoolCall::pool_released);
  REQUIRE(model.empty_cache());
  CHECK(under_test.picture() == "~[q:20M]");
  CHECK(model.begin_pool({0, 1}) == PoolCall::ok);
}

TEST_CASE("allocator: a fraction of 1 takes an earlier limit away in 2.11",
          "[allocator][sequence]") {
  AllocatorUnderTest under_test({.capacity = 100_MiB, .fraction = 0.5, .torch = "2.11"});
  CHECK(under_test.runs_out(60_MiB));
  under_test.model().set_memory_fraction(1.0);
  under_test.alloc("a", 60_MiB);
}

TEST_CASE("allocator: a question about the cache is answered without a change",
          "[allocator][sequence]") {
  AllocatorUnderTest under_test;
  under_test.alloc("a", 4_MiB);
  under_test.free("a");
  CachingAllocator& model = under_test.model();
  const StreamId stream{std::uint32_t{0}};
  CHECK(model.would_hit_cache(0_B, stream));
  CHECK(model.would_hit_cache(20_MiB, stream));
  CHECK_FALSE(model.would_hit_cache(21_MiB, stream));
  CHECK_FALSE(model.would_hit_cache(1_KiB, stream));
  CHECK_FALSE(model.would_hit_cache(4_MiB, StreamId{std::uint32_t{1}}));
  CHECK(under_test.picture() == "[free:20M]");
}

TEST_CASE("allocator: what was restored behaves as if it had been allocated",
          "[allocator][sequence]") {
  AllocatorUnderTest original;
  original.alloc("a", 3_MiB);
  original.alloc("b", 5_MiB);
  original.free("a");
  const MemoryMap map = original.model().memory_map();

  SimulatedDevice device({});
  CachingAllocator copy(device, Settings{}, version_preset("2.6"));
  const std::vector<BlockId> handles = copy.restore(map);
  REQUIRE(handles.size() == 3);
  CHECK_FALSE(handles[0].has_value());
  REQUIRE(handles[1].has_value());
  copy.free(handles[1]);
  const MemoryMap after = copy.memory_map();
  REQUIRE(after.segments.size() == 1);
  CHECK(after.segments[0].blocks.size() == 1);
  CHECK(copy.statistics().current(Stat::reserved_bytes) == 20 << 20);
  CHECK(copy.statistics().current(Stat::inactive_split) == 0);
}

TEST_CASE("allocator: requests of impossible size run out of memory on every device",
          "[allocator][sequence]") {
  const auto conf = GENERATE(as<std::string>{}, "", "expandable_segments:True");
  const auto capacity = GENERATE(std::optional<Bytes>{}, std::optional<Bytes>{80_GiB});
  AllocatorUnderTest under_test({.conf = conf, .capacity = capacity});
  under_test.alloc("a", 20_MiB);
  for (const int power : {62, 63}) {
    CHECK(under_test.runs_out(Bytes{std::uint64_t{1} << power}));
  }
  CHECK(under_test.runs_out(Bytes{~std::uint64_t{0}}));
  CHECK(under_test.stats().counters.num_ooms == 1);  // beyond 2^62 bytes nothing is attempted
  under_test.free("a");
  under_test.alloc("b", 20_MiB);
}

TEST_CASE("allocator: a device without memory serves nothing", "[allocator][sequence]") {
  const auto conf = GENERATE(as<std::string>{}, "", "expandable_segments:True");
  AllocatorUnderTest under_test({.conf = conf, .capacity = 0_B});
  CHECK(under_test.runs_out(1_B));
  CHECK(under_test.runs_out(100_MiB));
  CHECK(under_test.stats().counters.num_device_alloc == 0);
}
