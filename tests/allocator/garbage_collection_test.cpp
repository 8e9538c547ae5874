// Garbage collection: which cached segments go, when, and how many.
//
// Source: DeviceCachingAllocator::garbage_collect_cached_blocks and get_free_block of
// c10/cuda/CUDACachingAllocator.cpp, PyTorch 2.6.0.
#include <catch2/catch.hpp>

#include "tests/support/allocator_under_test.hpp"

using namespace highwater;
using namespace highwater::literals;

namespace {

/// Knows from a recording how much was collected.
class ReclaimingDevice : public SimulatedDevice {
 public:
  ReclaimingDevice() : SimulatedDevice({}) {}

  [[nodiscard]] std::optional<Bytes> recorded_reclaim() const override { return 1_MiB; }
};

}  // namespace

TEST_CASE("garbage collection: the oldest cached segments above the threshold go",
          "[allocator][garbage_collection]") {
  AllocatorUnderTest under_test(
      {.conf = "garbage_collection_threshold:0.5", .capacity = 200_MiB, .fraction = 1.0});
  under_test.alloc("a", 50_MiB);
  under_test.alloc("b", 40_MiB);
  under_test.free("a");
  under_test.alloc("c", 60_MiB);
  under_test.free("b");
  under_test.alloc("d", 70_MiB);  // 150 MiB held, 100 may be: a is the older of two
  CHECK(under_test.picture() == "[free:40M] [c:60M] [d:70M]");
}

TEST_CASE("garbage collection: ages count from the moment it is switched on",
          "[allocator][garbage_collection]") {
  AllocatorUnderTest under_test({.capacity = 200_MiB, .fraction = 1.0});
  under_test.alloc("a", 50_MiB);
  under_test.alloc("b", 40_MiB);
  under_test.free("a");
  under_test.alloc("c", 60_MiB);
  under_test.free("b");
  under_test.change_settings("garbage_collection_threshold:0.5");
  under_test.alloc("d", 70_MiB);  // a and b are of one age
  CHECK(under_test.picture() == "[c:60M] [d:70M]");
}

TEST_CASE("garbage collection: one byte above the threshold is enough",
          "[allocator][garbage_collection]") {
  AllocatorUnderTest under_test({.conf = "garbage_collection_threshold:0.5"});
  under_test.model().set_memory_limit(60_MiB - 2_B);
  under_test.alloc("a", 30_MiB);
  under_test.free("a");
  under_test.alloc("b", 40_MiB);
  CHECK(under_test.picture() == "[b:40M]");
  CHECK(under_test.stats().counters.num_alloc_retries == 0);
}

TEST_CASE("garbage collection: what a recording collected is collected without a limit",
          "[allocator][garbage_collection]") {
  ReclaimingDevice device;
  CachingAllocator model(device,
                         parse_settings("garbage_collection_threshold:0.5", version_preset("2.6")),
                         version_preset("2.6"));
  const StreamId stream{std::uint32_t{0}};
  model.free(model.allocate(30_MiB, stream).block);
  model.allocate(40_MiB, stream);
  CHECK(device.used() == 40_MiB);
}

// An expandable range without neighbours raises the average age, but is never freed.
TEST_CASE("garbage collection: ends where nothing but expandable memory is old enough",
          "[allocator][garbage_collection]") {
  AllocatorUnderTest under_test({.conf = "expandable_segments:True"});
  REQUIRE(under_test.runs_out(2048_GiB));  // what its reservation could hold stays mapped
  REQUIRE(under_test.picture() == "~[free:1179660M]");
  under_test.change_settings("garbage_collection_threshold:0.5,expandable_segments:False");
  under_test.model().set_memory_limit(1200_GiB);
  under_test.alloc("a", 30_MiB);
  under_test.free("a");
  under_test.alloc("b", 40_MiB);
  CHECK(under_test.picture() == "~[free:1179660M] [free:30M] [b:40M]");
}
