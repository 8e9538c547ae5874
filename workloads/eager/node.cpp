// Construction and deletion of autograd nodes (function.h, saved_variable.cpp, accumulate_grad.cpp
// of PyTorch 2.6).
#include "workloads/eager/node.hpp"

#include <algorithm>
#include <utility>

#include "workloads/eager/dtensor_spec.hpp"
#include "workloads/eager/graph_recorder.hpp"
#include "workloads/eager/ops.hpp"
#include "workloads/eager/runtime.hpp"

namespace highwater::eager {

namespace {

// AccumulateGrad keeps a gradient as it is if nothing else holds it and its layout is the
// parameter's (accumulate_grad.h; obeys_layout_contract in grad_layout_contract.h).
bool obeys_layout_contract(const Tensor& grad, const TensorImpl& variable) {
  if (!is_non_overlapping_and_dense(variable.sizes, variable.strides)) {
    return grad.is_contiguous();
  }
  for (std::size_t i = 0; i < variable.sizes.size(); ++i) {
    // A dimension of size 1 with stride 0 is treated as an expanded view.
    const bool is_single = grad.sizes()[i] == 1;
    if (is_single ? grad.strides()[i] == 0 : grad.strides()[i] != variable.strides[i]) {
      return false;
    }
  }
  return true;
}

Tensor clone_obeying_contract(const Tensor& grad, const TensorImpl& variable) {
  if (is_non_overlapping_and_dense(variable.sizes, variable.strides)) {
    return empty_strided(grad.runtime(), variable.sizes, variable.strides, grad.dtype());
  }
  return clone_contiguous(grad);
}

TensorList accumulate_grad(Node& node, TensorList& grads) {
  Runtime& runtime = *node.runtime;
  TensorImpl& variable = *node.variable;
  Tensor grad = std::move(grads[0]);
  if (!grad.defined()) {
    return {};
  }
  if (variable.grad.defined()) {
    // In place; the incoming gradient is freed when the node ends.
    runtime.launch(1);
    if (runtime.recorder != nullptr) {
      runtime.recorder->use(variable.grad);
    }
  } else if (grad.use_count() == 1 && obeys_layout_contract(grad, variable)) {
    variable.grad = detach(grad);
  } else {
    variable.grad = clone_obeying_contract(grad, variable);
  }
  runtime.categorize_transient(variable.grad, Category::gradient);
  if (node.post_hook) {
    node.post_hook(node.variable_owner);
  }
  grads[0] = std::move(grad);
  return {};
}

// A sharded parameter's gradient may be whole on every rank.
const Dims& gradient_sizes(const Tensor& leaf) {
  const DTensorSpec* spec = leaf->spec;
  const bool is_whole = spec != nullptr && spec->grad_placement != Placement::shard;
  return is_whole ? spec->sizes : leaf.sizes();
}

Ref<Node> accumulator_of(Runtime& runtime, const Tensor& leaf) {
  if (leaf->accumulator != nullptr) {
    return Ref<Node>(leaf->accumulator);
  }
  Ref<Node> node(new Node(runtime, "AccumulateGrad", kRunAtOnce));
  node->variable = leaf.get();
  node->variable_owner = leaf;
  node->input_metadata.push_back({gradient_sizes(leaf), leaf.dtype(), leaf->spec != nullptr});
  node->backward = accumulate_grad;
  leaf->accumulator = node.get();
  return node;
}

Edge edge_to(Runtime& runtime, const Tensor& tensor) {
  if (!tensor.defined() || !tensor.requires_grad()) {
    return {};
  }
  if (tensor.is_leaf()) {
    return {accumulator_of(runtime, tensor), 0};
  }
  return {tensor->grad_fn, tensor->output_nr};
}

Ref<Node> node_for(Runtime& runtime, const char* name, std::span<const Tensor> inputs) {
  const auto wants_gradient = [](const Tensor& t) { return t.defined() && t.requires_grad(); };
  if (!runtime.grad_enabled || std::ranges::none_of(inputs, wants_gradient)) {
    return {};
  }
  Ref<Node> node(new Node(runtime, name, runtime.next_sequence_nr()));
  for (const auto& input : inputs) {
    node->next_edges.push_back(edge_to(runtime, input));
  }
  return node;
}

// That of the first input on a GPU.
DeviceIndex device_of(std::span<const Tensor> inputs, DeviceIndex otherwise) {
  const auto is_on_gpu = [](const Tensor& t) { return t.defined() && t.place() == Place::cuda; };
  const auto found = std::ranges::find_if(inputs, is_on_gpu);
  return found == inputs.end() ? otherwise : (*found)->storage->device;
}

void delete_node(Node* node) {
  node->release_variables();
  if (node->variable != nullptr && node->variable->accumulator == node) {
    node->variable->accumulator = nullptr;
  }
  delete node;
}

}  // namespace

SavedTensor::SavedTensor(const Tensor& tensor, Saved as) {
  if (!tensor.defined()) {
    return;
  }
  Runtime& runtime = tensor.runtime();
  if (!runtime.saved_tensor_hooks.empty()) {
    packed_ = runtime.saved_tensor_hooks.back()->pack(tensor);
    return;
  }
  data_ = as == Saved::output && !tensor.is_leaf() ? alias(tensor) : tensor;
  runtime.categorize_transient(tensor, Category::activation);
}

void Node::keep(const Tensor& tensor, Saved as) {
  saved.emplace_back(tensor, as);
  if (runtime->recorder != nullptr && runtime->saved_tensor_hooks.empty()) {
    runtime->recorder->save(*this, tensor);
  }
}

Node::Node(Runtime& owner, const char* node_name, std::uint64_t number)
    : runtime(&owner),
      stream(owner.stream),
      device(owner.device),
      name(node_name),
      module(owner.module),
      sequence_nr(number) {}

Tensor Node::unpack(std::size_t index) const {
  Tensor tensor = saved[index].unpack();
  if (runtime->recorder != nullptr) {
    runtime->recorder->use(tensor);
  }
  return tensor;
}

OpenNode::OpenNode(Runtime& runtime, const char* name, std::span<const Tensor> inputs)
    : runtime_(runtime),
      device_before_(std::exchange(runtime.device, device_of(inputs, runtime.device))) {
  Ref<Node>::operator=(node_for(runtime, name, inputs));
  is_recorded_ = runtime.recorder != nullptr && runtime.recorder->begin(name, inputs, this->get());
}

OpenNode::~OpenNode() {
  if (is_recorded_) {
    runtime_.recorder->end();
  }
  runtime_.device = device_before_;
}

void Node::add_output(const Tensor& output) {
  output->grad_fn = Ref<Node>(this);
  output->output_nr = static_cast<std::uint32_t>(input_metadata.size());
  input_metadata.push_back({output.sizes(), output.dtype(), runtime->dispatches_dtensors});
  if (runtime->recorder != nullptr) {
    runtime->recorder->use(output);
  }
}

void Node::release_variables() {
  for (auto& tensor : saved) {
    tensor.release();
  }
  if (variable == nullptr) {  // an AccumulateGrad may be kept for its hook and run again
    backward = nullptr;
  }
}

// A chain of thousands of nodes must not be deleted recursively (function.cpp: deleteNode).
void Node::destroy(Node* node) {
  Runtime& runtime = *node->runtime;
  node->next_dead = std::exchange(runtime.dead_nodes, node);
  if (runtime.deleting_nodes) {
    return;
  }
  runtime.deleting_nodes = true;
  while (Node* const next = runtime.dead_nodes) {
    runtime.dead_nodes = next->next_dead;
    delete_node(next);
  }
  runtime.deleting_nodes = false;
}

OpenNode begin_node(Runtime& runtime, const char* name, std::span<const Tensor> inputs) {
  return {runtime, name, inputs};
}

OpenNode begin_node(Runtime& runtime, const char* name, std::initializer_list<Tensor> inputs) {
  return {runtime, name, std::span<const Tensor>(inputs.begin(), inputs.size())};
}

Ref<Node> gradient_node(Runtime& runtime, const Tensor& tensor) {
  return tensor.is_leaf() ? begin_node(runtime, "", {tensor})->next_edges[0].node
                          : Ref<Node>(tensor->grad_fn);
}

void finish_node(const Ref<Node>& node, const Tensor& output, BackwardFunction backward) {
  if (node) {
    node->backward = std::move(backward);
    node->add_output(output);
  } else if (GraphRecorder* recorder = output.runtime().recorder; recorder != nullptr) {
    recorder->use(output);
  }
}

}  // namespace highwater::eager
