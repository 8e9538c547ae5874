// Nodes of the autograd graph: what an operator must do in backward and which tensors it keeps.
//
// Mirrors torch/csrc/autograd (PyTorch 2.6): function.h, saved_variable.h, edge.h. The order in
// which things are released is part of the model: incoming gradients first, then saved tensors in
// the order in which they were saved (PyTorch: members in alphabetical order).
#pragma once

#include <cstdint>
#include <functional>
#include <initializer_list>
#include <limits>
#include <memory>
#include <vector>

#include <boost/container/small_vector.hpp>

#include "workloads/eager/tensor.hpp"

namespace highwater::eager {

class GraphRecorder;

/// What a saved-tensor hook stored instead of a tensor (torch.autograd.graph.saved_tensors_hooks).
class Packed : public RefCounted {
 public:
  virtual ~Packed() = default;
  virtual Tensor unpack() = 0;

  static void destroy(Packed* packed) { delete packed; }
};

/// A pair of pack and unpack hooks; the innermost on Runtime's stack sees every saved tensor.
class SavedTensorHooks {
 public:
  virtual ~SavedTensorHooks() = default;
  virtual Ref<Packed> pack(const Tensor& tensor) = 0;
};

/// What an operator keeps of itself: PyTorch saves its own output as an alias, without its node.
enum class Saved : std::uint8_t { input, output };

/// A tensor that a node keeps until it has run.
class SavedTensor {
 public:
  SavedTensor(const Tensor& tensor, Saved as);

  [[nodiscard]] Tensor unpack() const { return packed_ ? packed_->unpack() : data_; }

  void release() {
    data_.reset();
    packed_.reset();
  }

 private:
  Tensor data_;
  Ref<Packed> packed_;
};

/// Where a gradient goes: input `input_nr` of `node`; nowhere if there is no node.
struct Edge {
  Ref<Node> node;
  std::uint32_t input_nr = 0;
};

/// Shape and type a node expects its incoming gradient to have.
struct InputMetadata {
  Dims sizes;
  DType dtype;
  bool is_dtensor = false;  ///< gradients are DTensors: never added in place
};

/// Computes the gradients of a node's inputs from those of its outputs, one for each edge.
using BackwardFunction = std::function<TensorList(Node&, TensorList& grads)>;

/// Sequence number of AccumulateGrad: such nodes run as soon as they are ready.
inline constexpr std::uint64_t kRunAtOnce = std::numeric_limits<std::uint64_t>::max();

class Node : public RefCounted {
 public:
  Node(Runtime& owner, const char* node_name, std::uint64_t number);

  /// Keeps `tensor`, an input of the operator.
  void save(const Tensor& tensor) { keep(tensor, Saved::input); }

  /// Keeps `tensor`, a result of the operator.
  void save_output(const Tensor& tensor) { keep(tensor, Saved::output); }

  [[nodiscard]] Tensor unpack(std::size_t index) const;

  /// The same; undefined where fewer were saved.
  [[nodiscard]] Tensor unpack_if_saved(std::size_t index) const {
    return index < saved.size() ? unpack(index) : Tensor{};
  }

  /// Whether the gradient of input `index` is needed.
  [[nodiscard]] bool needs(std::size_t index) const {
    return static_cast<bool>(next_edges[index].node);
  }

  /// Makes `output` the next result of this node.
  void add_output(const Tensor& output);

  void release_variables();

  static void destroy(Node* node);

  Runtime* runtime;
  StreamId stream;       ///< current when its first result was made: backward runs there, too
  DeviceIndex device;    ///< of its first result: backward runs there, too
  const char* name;      ///< as in PyTorch: "AddmmBackward0"
  std::uint32_t module;  ///< where the operator was called: Runtime::module; for reports
  std::uint64_t sequence_nr;
  boost::container::small_vector<Edge, 3> next_edges;
  boost::container::small_vector<InputMetadata, 1> input_metadata;
  boost::container::small_vector<SavedTensor, 3> saved;
  BackwardFunction backward;
  std::shared_ptr<const void>
      context;                     ///< what a Python Function's ctx holds until the node is deleted
  TensorImpl* variable = nullptr;  ///< of AccumulateGrad
  Tensor variable_owner;           ///< keeps it alive
  std::function<void(Tensor&)> post_hook;        ///< of AccumulateGrad: optimizer in backward, DDP
  std::vector<std::function<void()>> pre_hooks;  ///< Tensor.register_hook of its results
  Node* next_dead = nullptr;                     ///< behind it in Runtime::dead_nodes

 private:
  void keep(const Tensor& tensor, Saved as);
};

/// The node of the current operator; it lives as long as the operator, for the compute graph. So
/// long operators run on the GPU of its inputs.
class OpenNode : public Ref<Node> {
 public:
  OpenNode(Runtime& runtime, const char* name, std::span<const Tensor> inputs);
  OpenNode(const OpenNode&) = delete;
  OpenNode& operator=(const OpenNode&) = delete;
  ~OpenNode();

 private:
  Runtime& runtime_;
  DeviceIndex device_before_;
  bool is_recorded_;
};

/// A new node for an operator with these inputs, or null if no gradient is needed. Keep it in the
/// operator's outermost scope.
OpenNode begin_node(Runtime& runtime, const char* name, std::initializer_list<Tensor> inputs);
OpenNode begin_node(Runtime& runtime, const char* name, std::span<const Tensor> inputs);

/// The node whose gradient is that of `tensor`, which requires one; that of a leaf is found as
/// expand_as() finds it, and lives as long as somebody holds it.
Ref<Node> gradient_node(Runtime& runtime, const Tensor& tensor);

/// Gives the node its backward function and its (first) output.
void finish_node(const Ref<Node>& node, const Tensor& output, BackwardFunction backward);

/// Tensor.backward(): runs the graph behind `root` with gradient `grad` (ones_like(root) if it is
/// undefined) and accumulates into the .grad of the leaves (torch/csrc/autograd/engine.cpp).
void backward(const Tensor& root, Tensor grad = {});

/// torch.autograd.grad(root, leaf): nodes that do not lead to `leaf` do not run, and nothing is
/// accumulated. The graph behind `root` is used up.
Tensor gradient_of_leaf(const Tensor& root, Tensor grad, const Tensor& leaf);

/// torch.autograd.graph.get_gradient_edge(): where backward() begins, without the tensor's memory.
Tensor gradient_edge(const Tensor& tensor);

/// The same for several roots at once (reentrant checkpointing uses it).
void backward(std::span<const Tensor> roots, std::span<const Tensor> grads);

}  // namespace highwater::eager
