// What the graph needs compared with what the run kept: a block is needed until its last use, but
// lives until the last Python variable, saved tensor or graph edge releases it.
//
// Blocks that outlive an iteration (parameters, gradients, optimizer state, buffers, inputs,
// workspaces) and memory outside recorded operators count with their actual lifetimes.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "workloads/graph/compute_graph.hpp"

namespace highwater {

/// A block's life in positions of the trace.
struct TensorLifetime {
  std::uint64_t allocated = 0;  ///< index of its allocation
  std::uint64_t needed = 0;     ///< events before the end of its last use
  std::uint64_t freed = 0;      ///< index of its release; the trace's length if there is none

  /// Events during which only references kept the block.
  [[nodiscard]] std::uint64_t idle() const { return freed > needed ? freed - needed : 0; }
};

/// By TensorId.
std::vector<TensorLifetime> lifetimes(const ComputeGraph& graph, const RequestTrace& trace);

/// The peak of requested bytes if every block were freed at its last use; what the run needs beyond
/// that is the price of Python frames and references.
struct LivenessPeaks {
  Bytes actual;
  Bytes graph_lower_bound;
};

LivenessPeaks liveness_peaks(const ComputeGraph& graph, const RequestTrace& trace);

/// The same for only the operators of `range`: the optimizer's peak is a separate matter.
LivenessPeaks liveness_peaks(const ComputeGraph& graph, const RequestTrace& trace,
                             const OperatorRange& range);

/// Why a block is alive.
enum class Reason : std::uint8_t {
  persistent,  ///< it outlives the iteration: a parameter, a gradient buffer, ...
  saved,       ///< a backward operator that has not run yet keeps it
  pending,     ///< a later operator reads it
  in_use,      ///< the current operator created it or reads it for the last time
  references   ///< nothing reads it any more; Python variables or a library hold it
};

/// "saved for", "python references", ...
std::string_view to_string(Reason reason);

struct Holding {
  TensorId block;
  Reason reason = Reason::references;
  Category category = Category::unknown;
  OpId op;  ///< of saved and pending: for which operator
};

/// All blocks alive after event `event` of the trace, in order of allocation.
std::vector<Holding> why_alive(const ComputeGraph& graph, const RequestTrace& trace,
                               std::uint64_t event);

/// One line of a report: all blocks held for the same reason by the same operator of a module.
struct HoldingSum {
  Reason reason = Reason::references;
  std::string what;    ///< the backward operator's name, or the category
  std::string module;  ///< its module path
  Bytes bytes;
  std::uint64_t blocks = 0;
};

/// Sums of why_alive(), largest first.
std::vector<HoldingSum> sum_holdings(const ComputeGraph& graph,
                                     const std::vector<Holding>& holdings);

/// The event after which the most bytes are requested; the first if there are several.
std::uint64_t peak_event(const RequestTrace& trace);

}  // namespace highwater
