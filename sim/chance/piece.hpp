// A part of a run's requests that can follow any other part: a training step, or one micro-batch of
// it, for one length.
//
// Runs of tens of thousands of steps repeat the same few steps. A trace is cut where a step or a
// micro-batch begins; each piece names blocks by places of its own: first those that were live when
// it begins, in the order in which they were allocated, then its own. What is live when it ends
// goes on to the next piece, in that order again, whatever the sizes were. So two pieces fit behind
// each other if as many blocks are live where they meet, and mean the same if each leaves the
// blocks of the same variables in the same order; whether they do is found by cutting a run that
// has them one behind the other (tools/studies/chance).
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "traces/request_trace.hpp"

namespace highwater {

/// One request, 16 bytes: half of an event, which also says what it is for.
struct PieceRequest {
  std::uint64_t bytes = 0;  ///< of an allocation
  std::uint32_t place = 0;  ///< of the block
  std::uint16_t stream = 0;
  EventKind kind = EventKind::alloc;

  bool operator==(const PieceRequest&) const = default;
};

static_assert(sizeof(PieceRequest) == 16);

struct Piece {
  std::uint32_t live_before = 0;       ///< blocks that are live when it begins: the first places
  std::uint32_t places = 0;            ///< those, and its own allocations
  std::uint32_t untouched = 0;         ///< so many of the first places are still live at its end
  std::vector<std::uint32_t> left;     ///< the other places that are, in the order of allocation
  std::vector<PieceRequest> requests;  ///< without markers

  bool operator==(const Piece&) const = default;

  [[nodiscard]] std::uint32_t live_after() const {
    return untouched + static_cast<std::uint32_t>(left.size());
  }

  /// What it takes in memory.
  [[nodiscard]] std::size_t bytes() const;
};

using PiecePtr = std::shared_ptr<const Piece>;

/// The pieces of `trace` that begin at the events `begins`, ascending; first what comes before.
/// @throws InputError for requests that pieces cannot hold: private pools, changed settings
std::vector<Piece> cut(const RequestTrace& trace, std::span<const std::size_t> begins);

}  // namespace highwater
