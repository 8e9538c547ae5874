// The history of a replay in a bounded size: its curves, its steps and phases, what went wrong
// when, and what lay where at the moments worth a look. It is what the HTML report draws and what a
// Chrome trace is written from.
//
// Positions count operations or events, as asked for. Curves keep the extremes of every stretch
// (thinned_curve.hpp); of ranges, marks and segments so many are kept as the limits say, and all
// are counted. The memory maps of the moments take a second replay (moments.hpp).
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <vector>

#include "sim/peak/largest_kept.hpp"
#include "sim/peak/moments.hpp"
#include "sim/peak/pool_history.hpp"
#include "sim/replay/state_observer.hpp"
#include "sim/replay/timeline.hpp"
#include "traces/ids.hpp"
#include "traces/request_trace.hpp"

namespace highwater {

enum class MarkKind : std::uint8_t { out_of_memory, retry, empty_cache };

inline constexpr std::size_t kMarkKinds = 3;

struct HistoryMark {
  MarkKind kind = MarkKind::retry;
  std::uint64_t at = 0;
  Bytes bytes;  ///< asked for; of an empty_cache what it released
};

enum class RangeKind : std::uint8_t { step, phase, op };

inline constexpr std::size_t kRangeKinds = 3;

/// A part of the run between markers: positions [begin, end).
struct HistoryRange {
  std::uint64_t value = 0;  ///< step number, or StringId of the name
  std::uint64_t begin = 0;
  std::uint64_t end = 0;

  [[nodiscard]] StringId name() const { return StringId{static_cast<std::uint32_t>(value)}; }
};

/// What positions count. An empty_cache that only shows in the recording's effects does not count.
enum class HistoryAxis : std::uint8_t { operations, events };

/// Which ranges are kept if there are too many.
enum class KeptRanges : std::uint8_t { first, longest };

struct HistoryRequest {
  HistoryAxis axis = HistoryAxis::operations;
  std::size_t stretches = 8192;  ///< of the curves
  std::size_t marks = 200;       ///< of each kind, the first ones
  std::size_t ranges = 600;      ///< of each kind
  KeptRanges kept_ranges = KeptRanges::first;
  std::size_t segments = 0;  ///< lives of segments; 0: neither these nor curves per pool
  MomentLimits moments;
  std::vector<AllocationId> step_begins;  ///< of steps that no markers tell of (training_steps.hpp)
};

struct ReplayHistory {
  std::uint64_t length = 0;
  Timeline timeline;
  PoolTimelines pools;
  KeptItems<SegmentLife> segments;
  std::vector<HistoryMark> marks;                       ///< by time
  std::array<std::uint64_t, kMarkKinds> mark_counts{};  ///< by MarkKind, those not kept included
  std::array<KeptItems<HistoryRange>, kRangeKinds> ranges;  ///< by RangeKind, each by time
  std::vector<Moment> moments;                              ///< by time; several may share a state

  [[nodiscard]] const KeptItems<HistoryRange>& of(RangeKind kind) const {
    return ranges[static_cast<std::size_t>(kind)];
  }
};

/// `trace` is what `replay` replays.
ReplayHistory collect_history(const RequestTrace& trace, const WatchedReplay& replay,
                              const HistoryRequest& request = {});

}  // namespace highwater
