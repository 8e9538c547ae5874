// Offline packing: addresses for all allocations of a run at once, knowing every lifetime.
//
//   offset                      Finding the lowest height is NP-hard (dynamic storage allocation,
//     | +---+   +-----+         Garey & Johnson SR2); the height of any valid packing is an upper
//     | | B |   |  C  |         bound of the optimum, the most bytes alive at once a lower one.
//     | +---+---+-----+--+      Between the two lies the best that any allocator could do, even
//     | |       A        |      one that moves nothing and sees the future.
//     +-+----------------+-> operations
//
// Heuristics: greedy placement at the lowest offset that is free for the whole life of a block,
// largest, longest or largest area first (greedy by size of TFLite's memory planner: Pisarchyk &
// Lee, arXiv 2001.03288; the sort keys of minimalloc, Moffitt, ASPLOS 2024), then rounds in which
// the blocks that stand out at the top come first (squeaky wheel optimisation, Joslin & Clements,
// JAIR 1999). Long runs are cut at moments with little memory alive: blocks that live across a cut
// are placed first, the stretches between the cuts one by one. Beside it, in n log n, first fit
// and best fit in order of time, forward and backward. The lowest of all is kept.
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "sim/packing/order_of_ends.hpp"
#include "sim/packing/packing_block.hpp"

namespace highwater {

struct PackingEffort {
  /// Steps of the greedy placement (blocks looked at), over all orders; about 10^9 a second.
  std::uint64_t steps = 500'000'000;
  /// The search ends when the height is no more than this share above the most bytes alive.
  double good_enough = 0.001;
};

struct Packing {
  Bytes height;                ///< the highest end of any block
  std::vector<Bytes> offsets;  ///< by index of the block
  std::string_view method;     ///< "greedy", "first fit", ...: which heuristic won
};

/// `blocks` in order of `begin`. The same input gives the same packing.
Packing pack(std::span<const PackingBlock> blocks, const OrderOfEnds& ends,
             const PackingEffort& effort = {});

}  // namespace highwater
