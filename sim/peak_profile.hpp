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

/// The first moment at which the live requested bytes are highest.
struct PeakProfile {
  std::size_t event = 0;  ///< index of the allocation that reaches it
  Bytes live;
  std::uint64_t blocks = 0;
  std::vector<SiteShare> sites;  ///< largest first; their bytes sum to `live`
};

/// A block counts as live until its free is requested.
PeakProfile profile_peak(const RequestTrace& trace);

}  // namespace highwater
