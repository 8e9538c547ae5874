// The captures of CUDA graphs in a run, each with the eager work that prepares it.
//
// A capture asks for its memory in a private pool (torch/cuda/graphs.py; beginAllocateToPool of
// c10/cuda/CUDACachingAllocator.cpp, PyTorch 2.15). Where it begins and ends is known from the
// marks of `highwater record`; other traces show it by their pools: a capture then ends where
// memory is asked for outside of its pool. What lies between two captures (static inputs, warm-up)
// prepares the second one. Before the first capture, that is the tail whose call sites prepare
// later ones, too; what comes before (the model) belongs to none.
//
// Captures that need each other are one: a backward capture frees what its forward capture made.
// A variable that the next round of a loop sets anew is no such need.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "traces/pool_options.hpp"
#include "traces/request_trace.hpp"

namespace highwater {

struct Capture {
  std::size_t begin = 0;  ///< events [begin, first) prepare it
  std::size_t first = 0;  ///< events [first, end) are its own
  std::size_t end = 0;
  PoolIndex pool = 0;             ///< that it took memory from
  std::vector<StreamId> streams;  ///< of its blocks, in the order of their first use
  std::uint64_t graphs = 0;       ///< captures that need each other
  std::uint64_t blocks = 0;       ///< in its pool
  Bytes most_live;                ///< requested in its pool, by it, at a time
  StackId stack;                  ///< of its largest block
};

struct Captures {
  std::vector<Capture> list;  ///< in order; none overlap
  bool are_marked = false;    ///< where they begin and end is in the trace
};

/// Those after the first `older_events`, without any that took no memory.
Captures find_captures(const RequestTrace& trace, std::size_t older_events);

/// By AllocationId: the private pool that it was asked for in; `pools.size()` for the common pools.
std::vector<PoolIndex> pools_of_allocations(const RequestTrace& trace);

/// By AllocationId: capture if it was asked for in a session of one.
std::vector<SessionKind> session_kinds(const RequestTrace& trace);

/// What makes blocks of two captures the same thing: the n-th block of a call site.
struct CaptureBlock {
  StackId stack;
  std::uint32_t ordinal = 0;

  auto operator<=>(const CaptureBlock&) const = default;
};

}  // namespace highwater
