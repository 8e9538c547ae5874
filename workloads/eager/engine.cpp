// The autograd engine (torch/csrc/autograd/engine.cpp, input_buffer.cpp of PyTorch 2.6).
//
// One ready queue ordered by sequence number, gradients of one input summed as they arrive: in
// place if nothing else holds the first, otherwise into a third buffer. A node runs on the stream
// on which its forward ran; gradients that come from another stream are recorded on it. GPUs have a
// thread and a queue each; a model that is spread over them is a chain, so one of them runs at a
// time.
#include <algorithm>
#include <array>
#include <memory>
#include <queue>
#include <utility>

#include <boost/unordered/unordered_flat_map.hpp>

#include "workloads/eager/graph_recorder.hpp"
#include "workloads/eager/node.hpp"
#include "workloads/eager/ops.hpp"
#include "workloads/eager/runtime.hpp"

namespace highwater::eager {

namespace {

struct Task {
  Task(Ref<Node> ready, TensorList arrived) : node(std::move(ready)), grads(std::move(arrived)) {}

  Task(Task&&) = default;

  /// Not Boost's own, which makes room in a list that has been moved from, and must not throw.
  Task& operator=(Task&& other) noexcept {
    node = std::move(other.node);
    std::destroy_at(&grads);
    std::construct_at(&grads, std::move(other.grads));
    return *this;
  }

  Ref<Node> node;
  TensorList grads;
};

struct RunsLater {
  bool operator()(const Task& a, const Task& b) const {
    return a.node->sequence_nr < b.node->sequence_nr;
  }
};

// input_buffer.cpp: can_accumulate_inplace. It rejects tensor subclasses, so DTensors never
// qualify.
bool can_accumulate_in_place(const Tensor& sum) {
  return is_non_overlapping_and_dense(sum.sizes(), sum.strides()) && sum.use_count() == 1 &&
         sum->storage->use_count() == 1 && !sum->takes_no_sum;
}

void accumulate(Tensor& sum, Tensor& grad, bool is_dtensor) {
  if (!sum.defined()) {
    sum = std::move(grad);
  } else if (is_dtensor || !can_accumulate_in_place(sum)) {
    sum = add(sum, grad);
  } else {
    sum.runtime().launch(1);
    const std::array<Tensor, 2> operands{sum, grad};
    const RecordedScope record(sum.runtime(), "add_", operands);
  }
}

// Generated backward functions return only requested gradients; the others are freed inside them.
// Those of a torch.autograd.Function written in Python, which has a ctx, live until all have been
// delivered.
void drop_unwanted(const Node& node, TensorList& outputs) {
  if (node.context != nullptr) {
    return;
  }
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    if (!node.next_edges[i].node) {
      outputs[i].reset();
    }
  }
}

// A leaf's grad_dtype may change between forward and backward.
DType expected_dtype(const Edge& edge) {
  const TensorImpl* leaf = edge.node->variable;
  return leaf != nullptr && leaf->grad_dtype ? *leaf->grad_dtype
                                             : edge.node->input_metadata[edge.input_nr].dtype;
}

// engine.cpp: validate_outputs. Gradients of broadcast inputs are summed, other types cast.
void validate_outputs(const Node& node, TensorList& outputs) {
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    const auto& edge = node.next_edges[i];
    auto& grad = outputs[i];
    if (!edge.node) {
      continue;
    }
    if (!grad.defined()) {
      continue;
    }
    const auto& expected = edge.node->input_metadata[edge.input_nr];
    if (grad.sizes() != expected.sizes) {
      grad = sum_to(grad, expected.sizes);
    }
    if (grad.dtype() != expected_dtype(edge)) {
      grad = to_dtype(grad, expected_dtype(edge));
    }
  }
}

/// One call of backward().
class GraphTask {
 public:
  explicit GraphTask(Runtime& runtime) : runtime_(runtime) {}

  void run(std::span<const Tensor> roots, std::span<const Tensor> grads) {
    for (const auto& root : roots) {
      count_dependencies(root->grad_fn.get());
      ++dependencies_[root->grad_fn.get()];  // roots may be results of the same node
    }
    for (std::size_t i = 0; i < roots.size(); ++i) {
      Tensor grad = grads[i];
      deliver({roots[i]->grad_fn, roots[i]->output_nr}, grad);
    }
    while (!ready_.empty()) {
      Task task = std::move(const_cast<Task&>(
          ready_.top()));  // a priority queue offers no other way to move an element out
      ready_.pop();
      evaluate(task);
    }
    for (const StreamId leaf : leaf_streams_) {
      runtime_.wait_stream(runtime_.stream, leaf);
    }
  }

 private:
  void count_dependencies(Node* root) {
    std::vector<Node*> pending;
    if (seen_.emplace(root, true).second) {
      pending.push_back(root);
    }
    while (!pending.empty()) {
      Node* node = pending.back();
      pending.pop_back();
      for (const auto& edge : node->next_edges) {
        if (edge.node) {
          ++dependencies_[edge.node.get()];
          if (seen_.emplace(edge.node.get(), true).second) {
            pending.push_back(edge.node.get());
          }
        }
      }
    }
  }

  // The stream that goes on waits for the one that made `grad`.
  Tensor& hand_over(Tensor& grad, StreamId producer) {
    if (producer != runtime_.stream) {
      runtime_.wait_stream(runtime_.stream, producer);
      runtime_.record_stream(grad, runtime_.stream);
    }
    return grad;
  }

  void deliver(const Edge& edge, Tensor& grad) {
    Node* node = edge.node.get();
    const StreamId producer = runtime_.stream;
    const bool is_ready = --dependencies_[node] == 0;
    auto waiting = waiting_.find(node);
    if (waiting == waiting_.end()) {
      waiting = waiting_.try_emplace(node, TensorList(node->input_metadata.size())).first;
    }
    if (grad.defined()) {
      // input_buffer.cpp: add.
      const OnStream accumulation(runtime_, node->stream);
      const OnDevice place(runtime_, grad);
      accumulate(waiting->second[edge.input_nr], hand_over(grad, producer),
                 node->input_metadata[edge.input_nr].is_dtensor);
    }
    if (is_ready) {
      ready_.push({edge.node, std::move(waiting->second)});
      waiting_.erase(node);
    }
  }

  void evaluate(Task& task) {
    Node& node = *task.node;
    Scoped<const char*> naming(runtime_.node, node.name);
    Scoped<std::uint32_t> placing(runtime_.module, node.module);
    const OnStream running(runtime_, node.stream);
    const OnDevice place(runtime_, node.device);
    note_leaf(node);
    for (const auto& hook : node.pre_hooks) {
      hook();
    }
    TensorList outputs = gradients_of(node, task.grads);
    for (auto& grad : task.grads) {
      grad.reset();
    }
    node.release_variables();
    for (std::size_t i = 0; i < outputs.size(); ++i) {
      if (node.next_edges[i].node) {
        deliver(node.next_edges[i], outputs[i]);
      }
    }
    for (auto& output : outputs) {
      output.reset();
    }
  }

  void note_leaf(const Node& node) {
    if (node.next_edges.empty() &&
        std::ranges::find(leaf_streams_, node.stream) == leaf_streams_.end()) {
      leaf_streams_.push_back(node.stream);
    }
  }

  TensorList gradients_of(Node& node, TensorList& grads) {
    GraphRecorder* recorder = runtime_.recorder;
    if (recorder != nullptr) {
      recorder->begin_backward(node, {grads.data(), grads.size()});
    }
    TensorList outputs = node.backward(node, grads);
    outputs.resize(node.next_edges.size());
    drop_unwanted(node, outputs);
    validate_outputs(node, outputs);
    if (recorder != nullptr) {
      recorder->end();
    }
    return outputs;
  }

  Runtime& runtime_;
  boost::unordered_flat_map<Node*, bool> seen_;
  boost::unordered_flat_map<Node*, std::uint32_t> dependencies_;
  boost::unordered_flat_map<Node*, TensorList> waiting_;
  std::priority_queue<Task, std::vector<Task>, RunsLater> ready_;
  boost::container::small_vector<StreamId, 2> leaf_streams_;  ///< of nodes without a next one
};

// A callback may ask for another one.
void run_final_callbacks(Runtime& runtime) {
  while (!runtime.final_callbacks.empty()) {
    for (const auto& callback : std::exchange(runtime.final_callbacks, {})) {
      callback();
    }
  }
}

/// Of the nodes behind `root`, those that lead to `leaf` (engine.cpp: init_to_execute). Cuts the
/// edges to all others, so that a node need not compute gradients for them.
class PathsTo {
 public:
  explicit PathsTo(const Tensor& leaf) : leaf_(leaf.get()) {}

  void cut_others(Node* root) {
    std::vector<Node*> order{root};  // each node before those behind it, as a stack
    while (!order.empty()) {
      Node* node = order.back();
      const auto [found, is_new] = leads_.emplace(node, node->variable == leaf_);
      if (is_new) {
        push_next(*node, order);
        continue;
      }
      order.pop_back();
      cut_edges(*node, found->second);
    }
  }

 private:
  void push_next(const Node& node, std::vector<Node*>& order) const {
    for (const auto& edge : node.next_edges) {
      if (edge.node && !leads_.contains(edge.node.get())) {
        order.push_back(edge.node.get());
      }
    }
  }

  // All nodes behind it have been looked at.
  void cut_edges(Node& node, bool& leads) const {
    for (auto& edge : node.next_edges) {
      if (edge.node && leads_.at(edge.node.get())) {
        leads = true;
      } else {
        edge.node.reset();
      }
    }
  }

  const TensorImpl* leaf_;
  boost::unordered_flat_map<Node*, bool> leads_;
};

}  // namespace

Tensor gradient_of_leaf(const Tensor& root, Tensor grad, const Tensor& leaf) {
  PathsTo(leaf).cut_others(root->grad_fn.get());
  backward(root, std::move(grad));
  return std::exchange(leaf->grad, {});
}

Tensor gradient_edge(const Tensor& tensor) {
  Tensor edge = empty_on(tensor.runtime(), Place::meta, tensor.sizes(), tensor.dtype());
  edge->grad_fn = tensor->grad_fn;
  edge->output_nr = tensor->output_nr;
  return edge;
}

void backward(std::span<const Tensor> roots, std::span<const Tensor> grads) {
  Runtime& runtime = roots.front().runtime();
  Scoped<Thread> thread(runtime.thread, Thread::autograd);
  Scoped<bool> no_grad(runtime.grad_enabled, false);
  Scoped<std::vector<std::function<void()>>> callbacks(runtime.final_callbacks, {});
  GraphTask(runtime).run(roots, grads);
  run_final_callbacks(runtime);
}

void backward(const Tensor& root, Tensor grad) {
  if (!grad.defined()) {
    const OnDevice place(root.runtime(), root);
    OpScope op(root.runtime(), "ones_like");
    grad = empty_like(root);
  }
  backward(std::span<const Tensor>(&root, 1), std::span<const Tensor>(&grad, 1));
  grad.reset();  // before the caller's last reference to `root`
}

}  // namespace highwater::eager
