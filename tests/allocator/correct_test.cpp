// Corrections: a wrong decision is put right without a trace in the decisions that follow.
#include <catch2/catch.hpp>

#include "tests/support/allocator_under_test.hpp"

using namespace highwater;
using namespace highwater::literals;

namespace {

constexpr StreamId kStream{std::uint32_t{0}};

class CountingListener : public DecisionListener {
 public:
  void on_decision(const Decision& /*decision*/) override { ++count_; }

  [[nodiscard]] int count() const { return count_; }

 private:
  int count_ = 0;
};

Address address_of(AllocatorUnderTest& under_test, const std::string& name) {
  return under_test.model().block(under_test.handle(name)).address;
}

}  // namespace

TEST_CASE("correct: a block moves into free memory of its pool and stream",
          "[allocator][correct]") {
  AllocatorUnderTest under_test;
  under_test.alloc("a", 4_MiB);
  under_test.alloc("b", 4_MiB);
  under_test.alloc("c", 4_MiB);
  under_test.free("a");
  const Address free_begin = address_of(under_test, "c") + 4_MiB;
  CountingListener listener;
  CachingAllocator& model = under_test.model();
  model.set_listener(&listener);
  SECTION("to the start of a gap") {
    REQUIRE(
        model.move_block(under_test.handle("c"), address_of(under_test, "b") - 4_MiB).has_value());
    CHECK(under_test.picture() == "[a:4M b:4M free:12M]");  // in the block that was a's
  }
  SECTION("to the middle of a gap") {
    REQUIRE(model.move_block(under_test.handle("b"), free_begin + 2_MiB).has_value());
    CHECK(under_test.picture() == "[free:8M c:4M free:2M unnamed:4M free:2M]");
  }
  SECTION("to the end of a gap") {
    REQUIRE(model.move_block(under_test.handle("b"), free_begin + 4_MiB).has_value());
    CHECK(under_test.picture() == "[free:8M c:4M free:4M unnamed:4M]");
  }
  SECTION("not where it would reach beyond the gap") {
    CHECK_FALSE(model.move_block(under_test.handle("b"), free_begin + 5_MiB).has_value());
    CHECK_FALSE(
        model.move_block(under_test.handle("c"), address_of(under_test, "b") - 5_MiB).has_value());
    CHECK(under_test.picture() == "[free:4M b:4M c:4M free:8M]");
  }
  SECTION("not to a block in use") {
    CHECK_FALSE(model.move_block(under_test.handle("b"), address_of(under_test, "c")).has_value());
  }
  CHECK(under_test.stats().current(Stat::allocation) == 2);
  CHECK(under_test.stats().current(Stat::requested_bytes) == 8 << 20);
  CHECK(listener.count() == 0);  // a correction is no decision
  model.allocate(1_KiB, kStream);
  CHECK(listener.count() == 2);  // a segment and the block
}

TEST_CASE("correct: the cache holds what lies around a block that has moved",
          "[allocator][correct]") {
  AllocatorUnderTest under_test;
  for (const char* name : {"a", "b", "c"}) {
    under_test.alloc(name, 4_MiB);
  }
  const Address begin = address_of(under_test, "a");
  under_test.free("a");
  CachingAllocator& model = under_test.model();
  REQUIRE(model.move_block(under_test.handle("b"), begin + 14_MiB).has_value());
  const auto taken = [&](Bytes size) {
    return model.block(model.allocate(size, kStream).block).address - begin;
  };
  CHECK(taken(8_MiB) == 0_B);
  CHECK(taken(2_MiB) == 12_MiB);
  CHECK(taken(2_MiB) == 18_MiB);
  CHECK_FALSE(model.would_hit_cache(2_MiB, kStream));
}

TEST_CASE("correct: a block does not move to another stream or pool", "[allocator][correct]") {
  AllocatorUnderTest under_test;
  under_test.alloc("a", 1_KiB);
  under_test.alloc("large", 4_MiB);
  under_test.alloc("other stream", 1_KiB, 1);
  CachingAllocator& model = under_test.model();
  const BlockId a = under_test.handle("a");
  CHECK_FALSE(model.move_block(a, address_of(under_test, "large") + 8_MiB).has_value());
  CHECK_FALSE(model.move_block(a, address_of(under_test, "other stream") + 1_MiB).has_value());
}

TEST_CASE("correct: a block does not move to address space without memory",
          "[allocator][correct]") {
  AllocatorUnderTest under_test({.conf = "expandable_segments:True"});
  under_test.alloc("a", 20_MiB);
  const Address behind = address_of(under_test, "a") + 20_MiB;
  CHECK_FALSE(under_test.model().move_block(under_test.handle("a"), behind).has_value());
}

TEST_CASE("correct: an added segment is cached memory like any other", "[allocator][correct]") {
  AllocatorUnderTest under_test;
  CachingAllocator& model = under_test.model();
  const Address begin{0x7e0000000000};
  model.add_segment({begin, 20_MiB}, kStream, PoolKind::large);
  CHECK(under_test.stats().current(Stat::segment) == 1);
  CHECK(under_test.stats().current(Stat::reserved_bytes) == 20 << 20);
  under_test.alloc("a", 20_MiB);
  CHECK(address_of(under_test, "a") == begin);
}

TEST_CASE("correct: of added segments the one at the lowest address serves first",
          "[allocator][correct]") {
  AllocatorUnderTest under_test;
  const Address begin{0x7e0000000000};
  under_test.model().add_segment({begin + 40_MiB, 20_MiB}, kStream, PoolKind::large);
  under_test.model().add_segment({begin, 20_MiB}, kStream, PoolKind::large);
  under_test.alloc("a", 20_MiB);
  CHECK(address_of(under_test, "a") == begin);
}

TEST_CASE("correct: a cached segment is dropped, one in use is not", "[allocator][correct]") {
  AllocatorUnderTest under_test;
  under_test.alloc("a", 20_MiB);
  under_test.alloc("b", 4_MiB);
  under_test.alloc("c", 4_MiB);
  const Address a = address_of(under_test, "a");
  const Address b = address_of(under_test, "b");
  CHECK_FALSE(under_test.model().drop_segment(a));
  under_test.free("a");
  under_test.free("b");
  CountingListener listener;
  CachingAllocator& model = under_test.model();
  model.set_listener(&listener);
  CHECK_FALSE(model.drop_segment(b));
  CHECK_FALSE(model.drop_segment(a + 1_MiB));
  CHECK(model.drop_segment(a));
  CHECK_FALSE(model.drop_segment(a));
  CHECK(under_test.picture() == "[free:4M c:4M free:12M]");
  CHECK(under_test.stats().current(Stat::segment) == 1);
  CHECK(listener.count() == 0);
  model.free(under_test.handle("c"));
  CHECK(listener.count() == 2);
}

TEST_CASE("correct: expandable memory is not dropped as a segment", "[allocator][correct]") {
  AllocatorUnderTest under_test({.conf = "expandable_segments:True"});
  under_test.alloc("a", 20_MiB);
  const Address a = address_of(under_test, "a");
  under_test.free("a");
  CHECK_FALSE(under_test.model().drop_segment(a));
  CHECK(under_test.picture() == "~[free:20M]");
}

TEST_CASE("correct: a reservation that is full of memory is not dropped either",
          "[allocator][correct]") {
  AllocatorUnderTest under_test({.conf = "expandable_segments:True"});
  REQUIRE(under_test.runs_out(2048_GiB));
  const MemoryMap map = under_test.model().memory_map();
  REQUIRE(map.segments.size() == 1);
  CHECK(map.segments[0].range() == map.segments[0].reservation);
  CHECK_FALSE(under_test.model().drop_segment(map.segments[0].address));
}
