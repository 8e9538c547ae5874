// Cached memory back to the device: oversize blocks, private pools, pages of expandable segments.
//
// Source: release_available_cached_blocks, release_cached_blocks, releasePool and unmap_block of
// c10/cuda/CUDACachingAllocator.cpp, PyTorch 2.6.0.
#include <catch2/catch.hpp>

#include "tests/support/allocator_under_test.hpp"

using namespace highwater;
using namespace highwater::literals;

TEST_CASE("release: oversize blocks go from the largest on until there is just enough",
          "[allocator][release]") {
  AllocatorUnderTest under_test(
      {.conf = "max_split_size_mb:24", .fault = DeviceFault{DeviceCall::allocate, 4, 1}});
  for (const auto& [name, size] :
       {std::pair{"a", 30_MiB}, std::pair{"b", 30_MiB}, std::pair{"c", 26_MiB}}) {
    under_test.alloc(name, size);
  }
  for (const char* name : {"a", "b", "c"}) {
    under_test.free(name);
  }
  under_test.alloc("d", 60_MiB);
  CHECK(under_test.picture() == "[free:26M] [d:60M]");
  CHECK(under_test.stats().counters.num_alloc_retries == 0);
}

// 2.6 gives a part of a segment to cudaFree after max_split_size was lowered at run time.
TEST_CASE("release: a part of a segment is no oversize block to be released",
          "[allocator][release]") {
  const Bytes size = GENERATE(40_MiB, 80_MiB);  // the search starts at the block, or below it
  AllocatorUnderTest under_test({.fault = DeviceFault{DeviceCall::allocate, 2, 2}});
  under_test.alloc("a", 100_MiB);
  under_test.free("a");
  under_test.alloc("b", 30_MiB);
  under_test.change_settings("max_split_size_mb:25");
  CHECK(under_test.runs_out(size));
  CHECK(under_test.picture() == "[b:30M free:70M]");
}

TEST_CASE("release: expandable memory is unmapped, whatever its size", "[allocator][release]") {
  AllocatorUnderTest under_test(
      {.conf = "expandable_segments:True", .fault = DeviceFault{DeviceCall::allocate, 1, 2}});
  REQUIRE(under_test.runs_out(2048_GiB));  // what its reservation could hold stays mapped
  REQUIRE(under_test.picture() == "~[free:1179660M]");
  under_test.change_settings("max_split_size_mb:25,expandable_segments:False");
  CHECK(under_test.runs_out(1200_GiB));
  CHECK(under_test.picture().empty());
  CHECK(under_test.stats().counters.segment_unmap == under_test.stats().counters.num_device_free);
}

TEST_CASE("release: a private pool is gone when it was released and its memory is back",
          "[allocator][release]") {
  AllocatorUnderTest under_test;
  CachingAllocator& model = under_test.model();
  REQUIRE(model.begin_pool({1, 0}) == PoolCall::ok);
  under_test.alloc("p", 20_MiB);
  REQUIRE(model.end_pool({1, 0}) == PoolCall::ok);
  REQUIRE(model.release_pool({1, 0}) == PoolCall::ok);
  REQUIRE(model.empty_cache());
  CHECK(model.release_pool({1, 0}) == PoolCall::pool_released);  // p is still in use
  under_test.free("p");
  REQUIRE(model.empty_cache());
  CHECK(under_test.picture().empty());
  CHECK(model.release_pool({1, 0}) == PoolCall::unknown_pool);
  CHECK(model.begin_pool({1, 0}) == PoolCall::ok);
}

// PyTorch asserts at the next request of a session whose pool is gone.
TEST_CASE("release: a pool that is released while it is open serves until it is closed",
          "[allocator][release]") {
  const auto torch = GENERATE("2.11", "2.15");
  AllocatorUnderTest under_test({.torch = torch});
  CachingAllocator& model = under_test.model();
  REQUIRE(model.begin_pool({1, 0}) == PoolCall::ok);
  REQUIRE(model.release_pool({1, 0}) == PoolCall::ok);
  REQUIRE(model.empty_cache());
  under_test.alloc("p", 20_MiB);
  under_test.free("p");
  REQUIRE(model.end_pool({1, 0}) == PoolCall::ok);
  REQUIRE(model.empty_cache());
  CHECK(under_test.picture().empty());
  CHECK(model.end_pool({1, 0}) == PoolCall::unknown_pool);
}

// ExpandableSegment::unmapHandles: cudaStreamSynchronize. In a session nothing else waits.
TEST_CASE("release: pages are unmapped after all that was queued on their stream",
          "[allocator][release]") {
  AllocatorUnderTest under_test({.conf = "expandable_segments:True", .torch = "2.11"});
  CachingAllocator& model = under_test.model();
  REQUIRE(model.begin_pool({1, 0}) == PoolCall::ok);
  under_test.alloc("p", 20_MiB, 1);
  REQUIRE(model.end_pool({1, 0}) == PoolCall::ok);
  under_test.free("p");
  REQUIRE(model.release_pool({1, 0}) == PoolCall::ok);
  under_test.alloc("a", 20_MiB, 0);
  under_test.record_stream("a", 1);
  under_test.free("a");
  REQUIRE(model.begin_pool({2, 0}) == PoolCall::ok);
  REQUIRE(model.empty_cache());  // unmaps the pages of p, on stream 1
  REQUIRE(model.end_pool({2, 0}) == PoolCall::ok);
  REQUIRE(under_test.picture() == "~[a?:20M]");
  under_test.alloc("b", 20_MiB, 0);
  CHECK(under_test.picture() == "~[b:20M]");
}

TEST_CASE("release: memory that is mapped again ranks by where it lies", "[allocator][release]") {
  AllocatorUnderTest under_test({.conf = "expandable_segments:True"});
  under_test.alloc("a", 10_MiB);
  under_test.alloc("b", 50_MiB);
  under_test.alloc("c", 10_MiB);
  under_test.free("b");
  REQUIRE(under_test.model().empty_cache());
  under_test.alloc("d", 5_MiB);
  under_test.alloc("e", 5_MiB);
  under_test.alloc("f", 10_MiB);
  REQUIRE(under_test.picture() == "~[a:10M d:5M e:5M] ~[c:10M f:10M]");
  for (const char* name : {"g", "h"}) {
    under_test.alloc(name, 5_MiB);  // where b was
  }
  under_test.alloc("i", 10_MiB);
  under_test.free("h");
  under_test.free("e");
  under_test.alloc("j", 5_MiB);
  CHECK(under_test.picture() == "~[a:10M d:5M j:5M g:5M free:5M i:10M] ~[c:10M f:10M]");
}

// In 2.12 what is cut off becomes a new block, in the order in which the pages go: the smaller
// block's first. All other releases go by address within a segment.
TEST_CASE("release: of equal rims 2.12 takes the one that was cut off first",
          "[allocator][release]") {
  const auto [torch, picture] = GENERATE(table<std::string, std::string>({
      {"2.11", "~[a:10M n:10M] ~[free:5M c:15M d:10M free:10M] ~[f:20M]"},
      {"2.12", "~[a:10M free:10M] ~[free:5M c:15M d:10M n:10M] ~[f:20M]"},
      {"2.13", "~[a:10M n:10M] ~[free:5M c:15M d:10M free:10M] ~[f:20M]"},
  }));
  AllocatorUnderTest under_test({.conf = "expandable_segments:True", .torch = torch});
  for (const auto& [name, size] :
       {std::pair{"a", 10_MiB}, std::pair{"b", 55_MiB}, std::pair{"c", 15_MiB},
        std::pair{"d", 10_MiB}, std::pair{"e", 50_MiB}, std::pair{"f", 20_MiB}}) {
    under_test.alloc(name, size);
  }
  under_test.free("b");
  under_test.free("e");
  REQUIRE(under_test.model().empty_cache());
  under_test.alloc("n", 10_MiB);
  CHECK(under_test.picture() == picture);
}
