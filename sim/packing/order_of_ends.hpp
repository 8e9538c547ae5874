// In which order blocks go: what every sweep over time needs beside the order in which they come.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "sim/packing/packing_block.hpp"

namespace highwater {

/// Indices of blocks by end, ties in order of index.
using OrderOfEnds = std::vector<std::uint32_t>;

/// In linear time (least digit first).
OrderOfEnds order_of_ends(std::span<const PackingBlock> blocks);

/// Calls come(i) for each block in order of `begin`, and before it go(j) for those that have ended
/// by then.
template <class Come, class Go>
void for_each_arrival(std::span<const PackingBlock> blocks, const OrderOfEnds& ends, Come&& come,
                      Go&& go) {
  auto gone = ends.begin();
  for (std::size_t i = 0; i < blocks.size(); ++i) {
    for (; blocks[*gone].end <= blocks[i].begin; ++gone) {
      go(std::size_t{*gone});
    }
    come(i);
  }
}

}  // namespace highwater
