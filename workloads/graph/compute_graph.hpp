// The compute graph of a recorded run: operators and the blocks they create, read and keep.
//
// A tensor here is a storage block (views share it), so its id is that of its allocation in the
// trace. Edges: operator -> block it made, block -> operator that reads it, and block -> backward
// operator for which it is saved. The graph itself is a Boost.Graph adjacency list inside
// compute_graph.cpp; outside there are ids and these queries.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "traces/event.hpp"
#include "traces/request_trace.hpp"
#include "traces/units.hpp"
#include "workloads/graph/graph_recording.hpp"

namespace highwater {

using TensorId = AllocationId;

class ComputeGraph {
 public:
  /// @pre `recording` was made together with `trace`
  ComputeGraph(const GraphRecording& recording, const RequestTrace& trace);
  ComputeGraph(ComputeGraph&& other) noexcept;
  ComputeGraph& operator=(ComputeGraph&& other) noexcept;
  ~ComputeGraph();

  /// Operators are numbered in schedule order: OpId(0) .. OpId(operator_count() - 1).
  [[nodiscard]] std::size_t operator_count() const;
  [[nodiscard]] std::size_t tensor_count() const;

  /// A topological order of the operators (not the schedule).
  /// @throws std::logic_error if the graph has a cycle
  [[nodiscard]] std::vector<OpId> topological_order() const;

  // --- operators ----------------------------------------------------------------------------

  [[nodiscard]] std::vector<TensorId> inputs(OpId op) const;  ///< read, not saved for it
  [[nodiscard]] std::vector<TensorId> outputs(OpId op) const;
  /// Blocks kept from forward for the backward operator `op`.
  [[nodiscard]] std::vector<TensorId> saved_for(OpId op) const;
  /// "addmm", "add"; of a backward operator its node's name, "AddmmBackward0".
  [[nodiscard]] std::string name(OpId op) const;
  [[nodiscard]] std::string_view module_path(OpId op) const;
  [[nodiscard]] OperatorKind kind(OpId op) const;
  /// The operator whose gradients `op` computes, or none().
  [[nodiscard]] OpId forward_of(OpId op) const;
  /// The operator that computes the gradients of `op`, or none() if there is none.
  [[nodiscard]] OpId backward_of(OpId op) const;
  /// Autograd's number of the operator's node; 0 if it has none.
  [[nodiscard]] std::uint64_t sequence_nr(OpId op) const;
  /// The number of events in the trace before the operator began, and before it ended.
  [[nodiscard]] std::uint64_t begin(OpId op) const;
  [[nodiscard]] std::uint64_t end(OpId op) const;

  // --- blocks -------------------------------------------------------------------------------

  /// none() for scratch memory that its operator freed before ending.
  [[nodiscard]] OpId producer(TensorId tensor) const;
  /// Who reads the block, in schedule order; backward operators that keep it are among them.
  [[nodiscard]] std::vector<OpId> consumers(TensorId tensor) const;
  /// The backward operators for which the block is kept, in schedule order.
  [[nodiscard]] std::vector<OpId> saved_by(TensorId tensor) const;
  /// The last consumer, or the producer if there is none.
  [[nodiscard]] OpId last_use(TensorId tensor) const;
  [[nodiscard]] Bytes bytes(TensorId tensor) const;
  [[nodiscard]] Category category(TensorId tensor) const;

  // --- the schedule -------------------------------------------------------------------------

  /// Blocks that `op` or a later operator still needs and that exist when `op` ends.
  [[nodiscard]] std::vector<TensorId> live_at(OpId op) const;
  [[nodiscard]] Bytes live_bytes(OpId op) const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

/// A range of operators, the last not included.
struct OperatorRange {
  OpId first{0U};
  OpId last{0U};
};

/// Forward and backward of the first micro-batch of the first step.
OperatorRange first_micro_batch(const ComputeGraph& graph, const RequestTrace& trace);

}  // namespace highwater
