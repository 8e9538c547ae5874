// Ranks: what orders free blocks of one size since 2.12 follows the ages of blocks and segments.
#include "allocator/block_ranks.hpp"

#include <catch2/catch.hpp>

using namespace highwater;
using namespace highwater::literals;

TEST_CASE("block_ranks: an older segment ranks before a younger one at a lower address",
          "[allocator][block_ranks]") {
  SegmentRanks ranks;
  ranks.add({Address{0x9000}, 4_KiB});
  ranks.add({Address{0x1000}, 4_KiB});
  CHECK(ranks.of(Address{0x9000}) < ranks.of(Address{0x9fff}));
  CHECK(ranks.of(Address{0x9fff}) < ranks.of(Address{0x1000}));
  CHECK(ranks.of(Address{0x1000}) < ranks.of(Address{0x1fff}));
}

TEST_CASE("block_ranks: a segment that returns at its old address is a young one",
          "[allocator][block_ranks]") {
  SegmentRanks ranks;
  ranks.add({Address{0x1000}, 4_KiB});
  ranks.add({Address{0x2000}, 4_KiB});
  ranks.remove(Address{0x1000});
  ranks.add({Address{0x1000}, 4_KiB});
  CHECK(ranks.of(Address{0x2000}) < ranks.of(Address{0x1000}));
}

// Otherwise the ranks of the second half of a new segment would come from the old start inside it.
TEST_CASE("block_ranks: a segment that is gone leaves no trace in the one that covers it",
          "[allocator][block_ranks]") {
  SegmentRanks ranks;
  ranks.add({Address{0x2000}, 4_KiB});
  ranks.remove(Address{0x2000});
  ranks.add({Address{0x1000}, 8_KiB});
  ranks.add({Address{0x8000}, 4_KiB});
  CHECK(ranks.of(Address{0x1000}) < ranks.of(Address{0x2000}));
  CHECK(ranks.of(Address{0x2fff}) < ranks.of(Address{0x8000}));
}

TEST_CASE("block_ranks: the front part of a split block is the new one",
          "[allocator][block_ranks]") {
  const BlockId whole{std::size_t{0}};
  const BlockId other{std::size_t{1}};
  const BlockId rest{std::size_t{2}};
  BlockAges ages;
  ages.add(whole);
  ages.add(other);
  ages.split(whole, rest);
  CHECK(ages.of(rest) < ages.of(other));
  CHECK(ages.of(other) < ages.of(whole));
}
