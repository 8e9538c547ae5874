// Fragmentation blame: which call stacks' live blocks keep free memory from being given back.
//
// A piece is what goes back to the device only as a whole: a fixed segment, or one page of an
// expandable segment. While a piece holds active blocks its free bytes are pinned:
//
//   piece   |  A  |.......|B|......|     24 MiB free, pinned by A and B: 12 MiB each
//
// Each active block with bytes in the piece carries an equal share of the piece's free bytes, for
// as long as it is active; a block that waits for another stream still pins. Time is
// counted in operations: the state after an operation lasts for one. So the shares of all blocks
// add up to the pinned free bytes of every moment, and the byte-operations of all stacks to their
// sum over the run, exactly: what a division leaves over is carried on inside the piece.
//
// For fixed segments the pinned bytes are Fragmentation::free_in_split. For expandable segments
// they are fewer: empty_cache returns whole free pages between blocks.
#pragma once

#include <cstdint>
#include <vector>

#include "sim/peak/holders.hpp"
#include "sim/replay/replay.hpp"
#include "traces/request_trace.hpp"

namespace highwater {

/// What the blocks allocated at one call stack pin.
struct PinnedMemory {
  std::uint64_t byte_operations = 0;  ///< pinned bytes, summed over the operations of the run
  // At the chosen moment:
  Bytes bytes;                       ///< its share of the pinned free bytes
  Bytes active;                      ///< bytes of its active blocks
  std::uint64_t pinning_blocks = 0;  ///< active blocks in a piece that has free bytes

  PinnedMemory& operator+=(const PinnedMemory& other) {
    byte_operations += other.byte_operations;
    bytes += other.bytes;
    active += other.active;
    pinning_blocks += other.pinning_blocks;
    return *this;
  }
};

/// `blocks` are those of the stack over the whole run.
using PinningStack = Holder<StackId, PinnedMemory>;

struct FragmentationBlame {
  std::uint64_t operations = 0;       ///< of the run
  std::uint64_t byte_operations = 0;  ///< pinned bytes, summed over the operations; of all stacks
  std::size_t moment = 0;             ///< index of the event right before the chosen moment
  Bytes pinned;                       ///< free bytes pinned at the moment; of all stacks
  Bytes unused;                       ///< free bytes in pieces without active blocks at that moment
  /// Largest byte_operations first; these and the bytes sum to the totals.
  std::vector<PinningStack> stacks;

  /// Pinned bytes on average over the run.
  [[nodiscard]] Bytes average_pinned() const {
    return operations == 0 ? Bytes{} : Bytes{byte_operations / operations};
  }
};

/// Fills in what `blame`, of the whole run, says about the moment right after event `moment`, by a
/// replay up to there. @throws InputError as replay() does
void look_at_moment(const RequestTrace& trace, ReplayOptions options, std::size_t moment,
                    FragmentationBlame& blame);

}  // namespace highwater
