// Ranks: what orders free blocks of one size follows addresses, or the ages of blocks and segments.
#include "allocator/block_ranks.hpp"

#include <catch2/catch.hpp>

using namespace highwater;
using namespace highwater::literals;

TEST_CASE("block_ranks: until 2.11 a rank is the address", "[allocator][block_ranks]") {
  BlockRanks ranks(TieOrder::by_address);
  CHECK(ranks.of_segment({Address{0x9000}, 4_KiB}) == 0x9000);
  CHECK(ranks.of_piece(0x9000, 1_KiB) == 0x9400);
}

TEST_CASE("block_ranks: an older segment ranks before a younger one at a lower address",
          "[allocator][block_ranks]") {
  BlockRanks ranks(TieOrder::by_segment_age);
  const std::uint64_t older = ranks.of_segment({Address{0x9000}, 4_KiB});
  const std::uint64_t younger = ranks.of_segment({Address{0x1000}, 4_KiB});
  CHECK(older < ranks.of_piece(older, 4_KiB - 1_B));
  CHECK(ranks.of_piece(older, 4_KiB - 1_B) < younger);
}

TEST_CASE("block_ranks: a segment that returns at its old address is a young one",
          "[allocator][block_ranks]") {
  BlockRanks ranks(TieOrder::by_segment_age);
  ranks.of_segment({Address{0x1000}, 4_KiB});
  const std::uint64_t other = ranks.of_segment({Address{0x2000}, 4_KiB});
  CHECK(other < ranks.of_segment({Address{0x1000}, 4_KiB}));
}

TEST_CASE("block_ranks: a block that loses or gains bytes in front ranks where it begins then",
          "[allocator][block_ranks]") {
  BlockRanks ranks(TieOrder::by_segment_age);
  const std::uint64_t block = ranks.of_segment({Address{0x1000}, 8_KiB});
  CHECK(ranks.of_shrunk(block, 2_KiB) == block + 2048);
  CHECK(ranks.of_joined(block + 2048, block) == block);
}

TEST_CASE("block_ranks: the front part of a split block is the new one",
          "[allocator][block_ranks]") {
  BlockRanks ranks(TieOrder::by_block_age);
  std::uint64_t front = ranks.of_segment({Address{0x1000}, 4_KiB});
  const std::uint64_t other = ranks.of_segment({Address{0x9000}, 4_KiB});
  std::uint64_t rest = 0;
  ranks.split(front, rest, 1_KiB);
  CHECK(rest < other);
  CHECK(other < front);
  CHECK(ranks.of_joined(rest, front) == rest);
}

TEST_CASE("block_ranks: a block keeps its number when it loses bytes in front",
          "[allocator][block_ranks]") {
  BlockRanks ranks(TieOrder::by_block_age);
  const std::uint64_t block = ranks.of_segment({Address{0x1000}, 8_KiB});
  CHECK(ranks.of_shrunk(block, 2_KiB) == block);
  CHECK(ranks.of_piece(block, 0_B) > block);  // what was in front of it is a new block
}
