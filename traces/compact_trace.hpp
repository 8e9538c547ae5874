// A request trace in which rounds that repeat are written once.
//
// The micro-batches of a training step ask for the same, one after the other. Whoever only wants to
// know how much memory they need carries out as many as it takes until the allocator's state comes
// back (sim/replay/compact_replay.hpp).
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "traces/request_trace.hpp"

namespace highwater {

/// Events that are followed by themselves, `times` more. Each time, what the rounds allocated is
/// numbered on: the round frees and uses allocations of the rounds before it, which are like it
/// back to `first_alike`, and what is older than these stays.
struct RepeatedRound {
  std::size_t begin = 0;
  std::size_t end = 0;
  std::uint32_t allocations = 0;
  AllocationId first_alike;
  AllocationId next_allocation;  ///< the first behind the round
  std::size_t times = 0;

  [[nodiscard]] std::size_t length() const { return end - begin; }
};

struct CompactTrace {
  RequestTrace trace;                 ///< with each of the rounds once
  std::vector<RepeatedRound> rounds;  ///< in order
};

}  // namespace highwater
