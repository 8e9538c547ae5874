// Who holds the memory that a program has asked for at one moment of a trace, by default the
// highest point: live requested bytes by call stack.
#pragma once

#include <cstdint>
#include <vector>

#include "sim/peak/holders.hpp"
#include "traces/request_trace.hpp"

namespace highwater {

/// What lives at one moment.
struct LiveMemory {
  std::uint64_t at = 0;  ///< after this event, or operation where a replay was watched; from 0
  Bytes total;
  std::uint64_t blocks = 0;
  std::vector<StackHolder> holders;  ///< largest first; they sum to `total`
};

/// The first moment at which the live requested bytes are highest. A block counts as live until its
/// free is requested.
LiveMemory live_at_peak(const RequestTrace& trace);

/// Right after event `event` of `trace`.
LiveMemory live_at(const RequestTrace& trace, std::size_t event);

/// One live allocation, with the phase of the run in which it was made.
struct LiveBlock {
  AllocationId allocation;
  StackId stack;
  Bytes bytes;
  Category category = Category::unknown;
  StringId phase;  ///< none before the first phase marker
};

/// All blocks that live right after event `event`, in order of allocation id.
std::vector<LiveBlock> live_blocks_at(const RequestTrace& trace, std::size_t event);

}  // namespace highwater
