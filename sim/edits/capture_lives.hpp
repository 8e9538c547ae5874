// Which blocks outlive the capture that made them, and who frees them: what an arrangement of
// captures in another order has to carry over.
//
// A block that a later capture frees where it makes its own (a variable of the loop that is set
// anew) is freed by whichever capture comes as many places later. Every other block is freed where
// it was, or never.
#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <vector>

#include "sim/edits/captures.hpp"
#include "traces/request_trace.hpp"

namespace highwater {

/// A place in the work of a capture.
struct CapturePlace {
  std::optional<CaptureBlock> made;  ///< the last block that it made; absent: none yet
  std::size_t freed = 0;             ///< of its own blocks, since then

  bool operator==(const CapturePlace&) const = default;
};

/// How blocks of one kind end in later captures.
struct CaptureSuccession {
  std::size_t places = 1;  ///< so many captures later
  CapturePlace behind;     ///< where in that capture
};

/// Where a block of the run was made.
struct CaptureOrigin {
  std::size_t capture = 0;  ///< number of captures: in none
  CaptureBlock block;
  bool ends_inside = false;  ///< freed by the capture that made it
};

struct CaptureLives {
  std::vector<CaptureOrigin> origins;  ///< by AllocationId
  std::map<CaptureBlock, CaptureSuccession> successions;
};

CaptureLives lives_of(const RequestTrace& trace, const std::vector<Capture>& captures);

}  // namespace highwater
