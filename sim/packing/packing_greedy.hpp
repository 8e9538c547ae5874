// Greedy packing: blocks in order of importance, each at the lowest offset free for its whole life.
//
//   cuts         c1        c2          A long run is cut at moments with little memory alive. The
//     |  --A-----|---------|----       blocks that cross a cut (A, B) are placed first and stay
//     |  -- -- --|-- --B---|-- --      where they are; then each stretch is packed by itself around
//     |   --  -- | --   -- |           them. A stretch only has to stay below the highest of the
//     '----------'---------'------>    others, so most are done after one try.
#pragma once

#include <cstdint>
#include <span>

#include "sim/packing/packing.hpp"

namespace highwater {

/// Tries orders and, where blocks stand out above `target`, rounds with those first, until `target`
/// is reached or about `steps` placed blocks were looked at. Stretches are as long as that allows;
/// the packing is empty when they do not suffice for one try.
Packing pack_greedily(std::span<const PackingBlock> blocks, const OrderOfEnds& ends, Bytes target,
                      std::uint64_t steps);

}  // namespace highwater
