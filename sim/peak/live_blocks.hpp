// Who holds the memory at the highest point: live requested bytes by call site.
#pragma once

#include <cstdint>
#include <vector>

#include "traces/request_trace.hpp"

namespace highwater {

struct SiteShare {
  StackId stack;  ///< none: no stack was recorded
  Bytes bytes;
  std::uint64_t blocks = 0;
};

/// One moment of a trace, by default the first at which the live requested bytes are highest.
struct PeakProfile {
  std::size_t event = 0;  ///< index of the event that reaches it
  Bytes live;
  std::uint64_t blocks = 0;
  std::vector<SiteShare> sites;  ///< largest first; their bytes sum to `live`
};

/// A block counts as live until its free is requested.
PeakProfile profile_peak(const RequestTrace& trace);

/// The live bytes right after event `event` of `trace`.
PeakProfile profile_at(const RequestTrace& trace, std::size_t event);

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
