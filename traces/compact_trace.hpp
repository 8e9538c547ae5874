// A request trace in which rounds that repeat are written once, and equal blocks that come and go
// together are one allocation.
//
// The micro-batches of a training step ask for the same, one after the other. Whoever only wants to
// know how much memory they need carries out as many as it takes until the allocator's state comes
// back (sim/replay/compact_replay.hpp). A collective over 100,000 ranks may pad the part of each of
// them by a block of its own: as many as are handed out before anything else happens, and freed
// likewise, are one event (Event::equal_blocks).
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "traces/request_trace.hpp"

namespace highwater {

/// Allocations that take the numbers from `to` on, which those of a round earlier had.
struct NumberedBack {
  AllocationId from;
  AllocationId to;
  std::uint32_t count = 1;

  bool operator==(const NumberedBack&) const = default;
};

/// Events that are followed by themselves, `times` more. A round refers to allocations of the
/// rounds before it, so before each time what is in flight is numbered back, in order; what is
/// older than that stays.
struct RepeatedRound {
  std::size_t begin = 0;
  std::size_t end = 0;
  std::uint32_t allocations = 0;
  std::vector<NumberedBack> numbered_back;
  std::size_t times = 0;

  [[nodiscard]] std::size_t length() const { return end - begin; }
};

struct CompactTrace {
  RequestTrace trace;                 ///< with each of the rounds, and of equal blocks, once
  std::vector<RepeatedRound> rounds;  ///< in order
};

}  // namespace highwater
