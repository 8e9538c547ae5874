// Compares two request traces of the same run: a recorded one with a simulated one.
//
// Both are cut into phases by (step, phase, how often it came in the step). Inside a phase the
// requests are aligned like lines of text (Myers, An O(ND) difference algorithm, 1986), so that
// one missing request does not spoil the rest. Two allocations are equal by (bytes, stream in order
// of first appearance); two frees are equal when what they free was aligned with one another.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "traces/request_trace.hpp"

namespace highwater {

/// A phase lasts from here to the next boundary.
struct PhaseBoundary {
  std::size_t event = 0;              ///< index of its first event
  std::optional<std::uint64_t> step;  ///< absent before the first step
  std::string phase;

  bool operator==(const PhaseBoundary&) const = default;
};

/// The boundaries that the step and phase markers of a trace give. "loss" counts as part of
/// "forward", as recordings do not separate the two.
std::vector<PhaseBoundary> phase_boundaries(const RequestTrace& trace);

/// One side of a comparison.
struct ComparedTrace {
  const RequestTrace* requests = nullptr;
  std::vector<PhaseBoundary> phases;  ///< by event; what comes before the first is "init"
  /// The allocation that ran out of memory, where the program ended. Neither it (a recording has
  /// only its rounded size) nor anything after it counts.
  std::optional<AllocationId> failed;
};

/// One allocation or free of a side, with what it is compared by.
struct ComparedRequest {
  std::uint32_t event = 0;    ///< index into RequestTrace::events
  std::uint32_t ordinal = 0;  ///< the number of the allocation in the trace that it is or frees
  Bytes bytes;                ///< asked for, or given back
  std::uint16_t stream = 0;   ///< by first appearance
  bool is_alloc = true;
};

/// A line of an alignment: a request of both sides, or of one.
struct DiffLine {
  std::optional<std::uint32_t> first;  ///< index into TraceDiff::first
  std::optional<std::uint32_t> second;

  [[nodiscard]] bool is_common() const { return first && second; }
};

/// How often a phase asks for blocks of this size on either side; listed where they differ.
struct SizeDifference {
  Bytes bytes;
  std::uint64_t first = 0;
  std::uint64_t second = 0;

  /// Bytes by which the second side asks for more.
  [[nodiscard]] std::int64_t excess() const {
    return static_cast<std::int64_t>(bytes.count()) *
           (static_cast<std::int64_t>(second) - static_cast<std::int64_t>(first));
  }
};

/// Requested bytes of one side in a phase.
struct PhaseLoad {
  std::uint64_t requests = 0;
  Bytes peak;  ///< highest live bytes, the begin included
  Bytes end;   ///< live bytes at the end
};

struct PhaseDiff {
  std::optional<std::uint64_t> step;
  std::string phase;
  std::size_t occurrence = 0;  ///< in its step, from 0: the micro-batch
  PhaseLoad first;
  PhaseLoad second;
  std::vector<DiffLine> lines;   ///< in order
  std::uint64_t only_first = 0;  ///< lines of one side alone
  std::uint64_t only_second = 0;
  std::vector<SizeDifference> sizes;  ///< largest excess first

  [[nodiscard]] bool is_equal() const { return only_first == 0 && only_second == 0; }
};

struct TraceDiff {
  std::vector<ComparedRequest> first;
  std::vector<ComparedRequest> second;
  std::vector<PhaseDiff> phases;  ///< in order; phases empty on both sides are left out

  /// Whether everything is equal from step `step` on; absent: from the very beginning.
  [[nodiscard]] bool is_equal_from(std::optional<std::uint64_t> step) const;
};

/// Lines [begin, end) of a phase: differences and the common lines around them.
struct Hunk {
  std::size_t begin = 0;
  std::size_t end = 0;
};

std::vector<Hunk> hunks_of(const PhaseDiff& phase, std::size_t context);

enum class FreeOrder {
  counts,
  ignored,  ///< frees with no allocation between them may come in any order
};

struct DiffOptions {
  FreeOrder free_order = FreeOrder::counts;
  /// Differences that are searched for at once; beyond, the alignment is good but not optimal.
  std::size_t max_edits = 2000;
};

TraceDiff diff_traces(const ComparedTrace& first, const ComparedTrace& second,
                      const DiffOptions& options = {});

/// "step 1 forward 0", "init".
std::string phase_label(const PhaseDiff& phase);

}  // namespace highwater
