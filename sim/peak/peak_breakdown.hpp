// What the reserved memory of a run consists of at its peak, to the byte.
//
// The moment is after the operation that first reached the highest reserved. Everything reserved
// then belongs to exactly one part, to exactly one kind of segment and, unless it is free, to
// exactly one holder; so each of the three lists sums to the peak:
//
//   peak = requested + rounding + tails + waiting + free in split + free whole + passing
//
// `passing` is memory that was reserved during an operation only, and given back before it ended
// (expandable segments map pages before they find that the rest does not fit).
#pragma once

#include <compare>
#include <cstdint>
#include <string_view>
#include <vector>

#include "sim/peak/holders.hpp"
#include "sim/peak/memory_breakdown.hpp"
#include "sim/peak/moments.hpp"
#include "sim/replay/state_observer.hpp"
#include "traces/request_trace.hpp"

namespace highwater {

/// Kinds of segments by how they come about.
enum class SegmentClass : std::uint8_t {
  small,             ///< 2 MiB for requests up to 1 MiB
  large_shared,      ///< 20 MiB (or the setting's size) for requests below 10 MiB
  large_own,         ///< any other size: made for one request
  expandable_small,  ///< mapped ranges of expandable segments
  expandable_large,
};

/// "small", "large, shared", ...
std::string_view to_string(SegmentClass segment_class);

/// A 20 MiB segment made for one request cannot be told from a shared one: it counts as shared.
SegmentClass segment_class(const MapSegment& segment, const Settings& settings);

/// All segments of one class, pool and stream.
struct SegmentShare {
  SegmentClass segment_class = SegmentClass::small;
  std::uint32_t pool = 0;    ///< 0: the default pools, else private ones by first use
  std::uint32_t stream = 0;  ///< by first appearance: handles of two processes differ
  std::uint64_t segments = 0;
  MemoryBreakdown parts;
};

/// Where blocks come from; nothing of it is known of blocks without an owner.
struct BlockOrigin {
  StackId stack;
  Category category = Category::unknown;

  auto operator<=>(const BlockOrigin&) const = default;
};

struct PeakBreakdown {
  Moment moment;
  MemoryBreakdown parts;  ///< total(): the peak of reserved
  std::vector<SegmentShare> segments;
  std::vector<Holder<BlockOrigin, MemoryBreakdown>> holders;  ///< of active blocks: nothing free
};

/// `replay` replays the requests of `trace`, freely or following a recording; it is called twice.
/// `peak_reserved` is the highest value that its statistics showed, within operations included.
PeakBreakdown break_down_peak(const RequestTrace& trace, const WatchedReplay& replay,
                              Bytes peak_reserved);

}  // namespace highwater
