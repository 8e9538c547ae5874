// The store of blocks: its indices are handles, so they stay, and are used again after a removal.
#include <catch2/catch.hpp>

#include "allocator/block.hpp"

using namespace highwater;
using namespace highwater::literals;

namespace {

Block block_of(Bytes size) {
  Block block;
  block.size = size;
  return block;
}

}  // namespace

TEST_CASE("block_store: the room of a block that was removed serves the next one",
          "[allocator][block_store]") {
  BlockStore blocks;
  const BlockId a = blocks.add(block_of(1_KiB));
  const BlockId b = blocks.add(block_of(2_KiB));
  CHECK(a != b);
  blocks.remove(a);
  CHECK(blocks.add_copy(b) == a);
  CHECK(blocks[a].size == 2_KiB);
}

TEST_CASE("block_store: chains are visited from their first blocks", "[allocator][block_store]") {
  BlockStore blocks;
  const BlockId first = blocks.add(block_of(1_KiB));
  Block second = block_of(1_KiB);
  second.prev = first;
  blocks.link(blocks.add(second));
  blocks.remove(blocks.add(block_of(1_KiB)));
  std::vector<BlockId> visited;
  blocks.for_each_chain([&](BlockId id) { visited.push_back(id); });
  CHECK(visited == std::vector{first});
}
