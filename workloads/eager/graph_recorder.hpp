// Records the operators of a symbolic run as they happen: PyTorch is define-by-run, so the graph is
// known only after the program has run. Off unless Runtime::recorder is set.
//
// Operators nest (composites, kernels built of others). Whatever runs inside an operator without
// its own node counts as part of it; a checkpoint's segment, run inside its operator, does not
// (GraphBarrier). An operator enters the log when it ends, so the log is a valid schedule.
#pragma once

#include <span>
#include <vector>

#include <boost/container/small_vector.hpp>
#include <boost/unordered/unordered_flat_map.hpp>

#include "traces/stack_table.hpp"
#include "workloads/eager/tensor.hpp"
#include "workloads/graph/graph_recording.hpp"

namespace highwater::eager {

class GraphRecorder {
 public:
  explicit GraphRecorder(Runtime& runtime) : runtime_(&runtime) {}

  /// An operator begins that reads `inputs`; `node` is its autograd node, if it has one.
  /// Returns false if it is part of the current operator; then it must not be ended.
  bool begin(const char* name, std::span<const Tensor> inputs, const Node* node);

  /// An autograd node begins to compute gradients from `grads`.
  void begin_backward(const Node& node, std::span<const Tensor> grads);

  /// In destructors: what cannot be written down for lack of memory is the runtime's to tell.
  void end() noexcept;

  /// The current operator reads `tensor`, or returns it as a result.
  void use(const Tensor& tensor);

  /// `node` keeps `tensor`.
  void save(const Node& node, const Tensor& tensor);

  /// A checkpointed segment, known by its address, keeps its arguments for the recomputation.
  void keep_arguments(const void* segment, std::span<const Tensor> arguments);
  void take_arguments(const void* segment, std::span<const Tensor> arguments);

  void on_allocate(AllocationId block);
  void on_free(AllocationId block);

  /// Whatever runs until leave() is not part of the current operator.
  void enter();
  void leave();

  /// The log; the runtime must not be used for further operators.
  GraphRecording take();

 private:
  struct Frame {
    const char* name = "";
    OperatorKind kind = OperatorKind::forward;
    std::uint32_t module = 0;
    std::uint64_t begin = 0;
    std::uint64_t sequence_nr = 0;
    const Node* node = nullptr;
    OpId forward;
    bool is_barrier = false;
    boost::container::small_vector<AllocationId, 8> inputs;
    boost::container::small_vector<AllocationId, 8> outputs;
    boost::container::small_vector<AllocationId, 8> saved;
  };

  [[nodiscard]] bool is_inside_operator() const;
  [[nodiscard]] Frame frame_of(const char* name, const Node* node) const;
  void add_input(Frame& frame, const Tensor& tensor);
  void add_inputs(Frame& frame, std::span<const Tensor> tensors);
  void link_to_forward(Frame& frame, const void* key) const;
  OpId emit(const Frame& frame);
  void end_frame();

  Runtime* runtime_;
  std::vector<Frame> frames_;
  std::vector<std::uint32_t> module_of_block_;  ///< by AllocationId: where it was allocated
  boost::unordered_flat_map<const void*, OpId> forward_of_;  ///< by node or segment
  GraphRecording log_;
};

/// An operator without an autograd node, for a scope.
class RecordedScope {
 public:
  RecordedScope(Runtime& runtime, const char* name, std::span<const Tensor> inputs);
  RecordedScope(const RecordedScope&) = delete;
  RecordedScope& operator=(const RecordedScope&) = delete;

  ~RecordedScope() {
    if (recorder_ != nullptr) {
      recorder_->end();
    }
  }

 private:
  GraphRecorder* recorder_ = nullptr;
};

/// Operators in this scope are recorded separately, whatever calls them.
class GraphBarrier {
 public:
  explicit GraphBarrier(Runtime& runtime);
  GraphBarrier(const GraphBarrier&) = delete;
  GraphBarrier& operator=(const GraphBarrier&) = delete;

  ~GraphBarrier() {
    if (recorder_ != nullptr) {
      recorder_->leave();
    }
  }

 private:
  GraphRecorder* recorder_;
};

}  // namespace highwater::eager
