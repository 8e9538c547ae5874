// A round of a full pipeline that does what the round before it did, as the round that repeats.
//
// A stage in the steady part of its schedule holds as much after a round as before it, each block
// in the place of one that a micro-batch earlier had. A round refers to what it holds (the block
// that the backward pass frees was made by a forward pass some rounds ago), so the next round is
// the same events once what is held is numbered back by a round. Two rounds show it: the second is
// event for event the first, where what it refers to is what the first referred to, numbered back.
#pragma once

#include <array>
#include <optional>
#include <vector>

#include "traces/compact_trace.hpp"

namespace highwater::megatron {

/// Between two rounds.
struct RoundMark {
  std::size_t event = 0;           ///< the first behind it
  std::size_t allocations = 0;     ///< so far
  std::vector<AllocationId> held;  ///< in an order that only depends on what it is held for
};

/// The second of two rounds, whose begins and end are given; nothing if it is not like the first.
std::optional<RepeatedRound> repeated_round(const ChunkedVector<Event>& events,
                                            const std::array<RoundMark, 3>& marks);

}  // namespace highwater::megatron
