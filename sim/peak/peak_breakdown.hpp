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

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "allocator/memory_map.hpp"
#include "sim/replay/replay_result.hpp"
#include "sim/replay/state_observer.hpp"
#include "traces/request_trace.hpp"

namespace highwater {

/// The parts of reserved memory; they sum to it.
struct ReservedParts {
  Bytes requested;      ///< asked for, over blocks handed out
  Bytes rounding;       ///< what the size rules add: 512 bytes, roundup_power2_divisions
  Bytes tails;          ///< of blocks beyond that: the rest was too small to be split off
  Bytes waiting;        ///< freed blocks that wait for other streams
  Bytes free_in_split;  ///< free, in segments of which something is in use
  Bytes free_whole;     ///< free segments, which empty_cache() would return
  Bytes passing;        ///< reserved during an operation only

  [[nodiscard]] Bytes in_use() const { return requested + rounding + tails + waiting; }

  [[nodiscard]] Bytes total() const { return in_use() + free_in_split + free_whole + passing; }

  ReservedParts& operator+=(const ReservedParts& other);

  bool operator==(const ReservedParts&) const = default;
};

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
  ReservedParts parts;
};

/// All active blocks of one call stack and category.
struct HolderShare {
  StackId stack;  ///< none: not known
  Category category = Category::unknown;
  std::uint64_t blocks = 0;
  ReservedParts parts;  ///< nothing free
};

struct PeakBreakdown {
  Usage usage;                        ///< at the moment
  std::uint64_t operations = 0;       ///< carried out by then; 0: before the first one
  std::optional<std::uint64_t> step;  ///< the moment lies in, if markers tell
  ReservedParts parts;                ///< total(): the peak of reserved
  std::vector<SegmentShare> segments;
  std::vector<HolderShare> holders;
};

/// `replay` replays the requests of `trace`, freely or following a recording; it is called twice.
/// `peak_reserved` is the highest value that its statistics showed, within operations included.
PeakBreakdown break_down_peak(const RequestTrace& trace, const WatchedReplay& replay,
                              Bytes peak_reserved);

}  // namespace highwater
