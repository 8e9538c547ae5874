// Images of states: equal when equal requests are decided alike from there on, and none of states
// that do not come back.
#include "allocator/state_image.hpp"

#include <catch2/catch.hpp>

#include "tests/support/allocator_under_test.hpp"

using namespace highwater;
using namespace highwater::literals;

TEST_CASE("state_image: a state that comes back has an equal image, whatever its blocks are called",
          "[allocator][state_image]") {
  AllocatorUnderTest under_test;
  CachingAllocator& model = under_test.model();
  under_test.alloc("a", 4_MiB);
  under_test.alloc("b", 4_MiB);
  under_test.alloc("c", 30_MiB);
  under_test.free("a");
  const std::optional<StateImage> before = model.image();
  under_test.alloc("d", 2_MiB);
  CHECK(model.image() != before);
  under_test.alloc("e", 2_MiB);
  under_test.free("d");
  under_test.free("e");
  CHECK(under_test.picture() == "[free:4M b:4M free:12M] [c:30M]");  // the first block is e's
  REQUIRE(before.has_value());
  CHECK(model.image() == before);
}

TEST_CASE("state_image: what lies elsewhere or was asked for differently is another state",
          "[allocator][state_image]") {
  AllocatorUnderTest under_test;
  under_test.alloc("a", 4_MiB);
  under_test.alloc("b", 4_MiB);
  const std::optional<StateImage> before = under_test.model().image();
  under_test.free("b");
  SECTION("another size in a block of the same size") {
    under_test.alloc("b", 4_MiB - 1_B);
    CHECK(under_test.model().image() != before);
  }
  SECTION("another place") {
    under_test.free("a");
    under_test.alloc("a", 8_MiB);
    CHECK(under_test.model().image() != before);
  }
}

TEST_CASE("state_image: a state after a call of the device is not the one before",
          "[allocator][state_image]") {
  AllocatorUnderTest under_test;
  under_test.alloc("a", 4_MiB);
  const std::optional<StateImage> before = under_test.model().image();
  under_test.alloc("b", 30_MiB);
  under_test.free("b");
  REQUIRE(under_test.model().empty_cache());
  CHECK(under_test.picture() == "[a:4M free:16M]");
  CHECK(under_test.model().image() != before);
}

TEST_CASE("state_image: the other streams of a block are part of the state",
          "[allocator][state_image]") {
  AllocatorUnderTest under_test;
  CachingAllocator& model = under_test.model();
  under_test.alloc("a", 4_MiB);
  const std::optional<StateImage> unused = model.image();
  under_test.record_stream("a", 1);
  const std::optional<StateImage> used = model.image();
  CHECK(used != unused);
  under_test.record_stream("a", 1);
  CHECK(model.image() == used);
  under_test.record_stream("a", 2);
  CHECK(model.image() != used);
}

TEST_CASE("state_image: blocks that wait for other streams are part of the state",
          "[allocator][state_image]") {
  AllocatorUnderTest under_test;
  CachingAllocator& model = under_test.model();
  const auto use_and_free = [&](const std::string& name) {
    under_test.record_stream(name, 1);
    under_test.free(name);
  };
  under_test.alloc("a", 4_MiB);
  under_test.alloc("b", 4_MiB);
  const std::optional<StateImage> before = model.image();
  SECTION("in the order of their events") {
    use_and_free("a");
    use_and_free("b");
    const std::optional<StateImage> first_a = model.image();
    under_test.events_done(1);
    const std::optional<StateImage> not_noticed = model.image();
    CHECK(not_noticed != first_a);
    under_test.alloc("a", 4_MiB);
    under_test.alloc("b", 4_MiB);
    CHECK(model.image() == before);
    use_and_free("b");
    use_and_free("a");
    CHECK(model.image() != first_a);
  }
  SECTION("by each of the streams") {
    use_and_free("a");
    const std::optional<StateImage> by_one = model.image();
    under_test.events_done(1);
    under_test.alloc("a", 4_MiB);
    under_test.record_stream("a", 2);
    under_test.free("a");
    CHECK(model.image() != by_one);
  }
}

TEST_CASE("state_image: where blocks are numbered or ages counted no state comes back",
          "[allocator][state_image]") {
  const auto has_image = [](const AllocatorUnderTest::Setup& setup) {
    AllocatorUnderTest under_test(setup);
    return under_test.model().image().has_value();
  };
  CHECK(has_image({.torch = "2.11"}));
  CHECK_FALSE(has_image({.torch = "2.12"}));
  CHECK(has_image({.torch = "2.13"}));
  const std::string collects = "garbage_collection_threshold:0.5";
  CHECK(has_image({.conf = collects}));  // without a limit nothing is collected
  CHECK_FALSE(has_image({.conf = collects, .capacity = 1_GiB, .fraction = 0.5}));
}

TEST_CASE("state_image: a step that comes back counts as often as it is repeated",
          "[allocator][state_image]") {
  AllocatorUnderTest counted;
  AllocatorUnderTest carried_out;
  const auto step = [](AllocatorUnderTest& under_test) {
    under_test.alloc("a", 4_MiB);
    under_test.free("a");
  };
  step(counted);
  step(carried_out);
  const Statistics before = counted.stats();
  step(counted);
  counted.model().repeat(before, 2);
  for (int i = 0; i < 3; ++i) {
    step(carried_out);
  }
  CHECK(counted.stats().all(Stat::allocated_bytes) ==
        carried_out.stats().all(Stat::allocated_bytes));
}
