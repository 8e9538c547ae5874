// Which live blocks would have had to be freed for a failed request to succeed.
//
// Candidates are the blocks of one call stack (largest first, as few as suffice), and for a
// fragmented pool the blocks between which free memory lies: the stretch of a segment with the
// fewest live bytes that would hold the request. Every candidate is verified by a replay in which
// its blocks are freed right before the request.
#pragma once

#include <vector>

#include "sim/oom/oom_state.hpp"
#include "sim/replay/replay.hpp"

namespace highwater {

struct FreedBlocks {
  std::vector<HeldBlock> blocks;
  Bytes bytes;  ///< their sum
};

/// The fewest blocks of one call stack, largest first; of several such stacks (the eight with most
/// bytes are tried) the one with fewest bytes. Absent when no single stack suffices.
std::optional<FreedBlocks> freed_of_one_stack(const RequestTrace& trace,
                                              const ReplayOptions& options, const OomState& state);

/// The stretch of one segment with fewest live bytes (the four cheapest are tried): neighbours that
/// would leave a hole for the request.
std::optional<FreedBlocks> freed_stretch(const RequestTrace& trace, const ReplayOptions& options,
                                         const OomState& state);

/// Whether the request that failed succeeds with `blocks` freed right before it.
bool serves_when_freed(const RequestTrace& trace, const ReplayOptions& options,
                       const OomState& state, const std::vector<HeldBlock>& blocks);

}  // namespace highwater
