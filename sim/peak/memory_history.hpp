// The story of a run with a bounded size: curves, marks, and the memory map at a few key moments.
//
// Two replays make it: the first finds the moments (the highest reserved is known only at the end),
// the second takes the picture at each. Curves keep the extremes of every stretch (timeline.hpp);
// marks and steps beyond a limit are counted, not kept.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "allocator/memory_map.hpp"
#include "sim/replay/replay_result.hpp"
#include "sim/replay/state_observer.hpp"
#include "sim/replay/timeline.hpp"
#include "traces/ids.hpp"
#include "traces/request_trace.hpp"

namespace highwater {

enum class MomentKind : std::uint8_t {
  peak_reserved,
  peak_allocated,
  most_fragmented,  ///< most free bytes in segments that are in use (inactive_split_bytes)
  out_of_memory,
  step_end,
  end,
};

/// The state after one operation, worth a look.
struct KeyMoment {
  MomentKind kind = MomentKind::end;
  std::uint64_t operation = 0;
  std::uint64_t state = 0;  ///< which call of on_state it was, from 0; steers the second replay
  std::optional<std::uint64_t> step;  ///< the step it lies in, once one began
  StringId phase;                     ///< the phase it lies in, none before the first marker
  Usage usage;
  MemoryMap map;
  std::vector<AllocationId> owners;  ///< per block of `map` in order; none if free or unknown
};

enum class MarkKind : std::uint8_t { out_of_memory, retry, empty_cache };

inline constexpr std::size_t kMarkKinds = 3;

struct HistoryMark {
  MarkKind kind = MarkKind::retry;
  std::uint64_t operation = 0;
  Bytes bytes;  ///< asked for; of an empty_cache what it released
};

/// Where a step or phase begins.
struct StretchBegin {
  std::uint64_t operation = 0;
  std::uint64_t step = 0;  ///< of steps
  StringId phase;          ///< of phases
};

/// How much of a run is kept.
struct HistoryLimits {
  std::size_t buckets = 8192;   ///< of the curves
  std::size_t marks = 200;      ///< of each kind
  std::size_t stretches = 600;  ///< steps, and as many phases
  std::size_t ooms = 4;         ///< moments of running out of memory
  std::size_t step_ends = 4;    ///< the first ones, and the last
};

struct MemoryHistory {
  Timeline timeline;
  std::uint64_t operations = 0;
  std::vector<KeyMoment> moments;  ///< by time; several kinds may share an operation
  std::vector<HistoryMark> marks;  ///< by time
  std::array<std::uint64_t, kMarkKinds> mark_counts{};  ///< by MarkKind, those not kept included
  std::vector<StretchBegin> steps;
  std::vector<StretchBegin> phases;
  bool has_all_stretches = true;
};

/// `allocations` is the number of allocations of the trace that `replay` replays; `step_begins` are
/// the first allocations of steps that no markers tell of (periods.hpp), in order.
MemoryHistory collect_history(std::size_t allocations, const WatchedReplay& replay,
                              const std::vector<AllocationId>& step_begins = {},
                              const HistoryLimits& limits = {});

}  // namespace highwater
