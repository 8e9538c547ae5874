#include "workloads/nn/checkpoint.hpp"

#include <algorithm>
#include <memory>
#include <optional>

#include "workloads/eager/autocast.hpp"
#include "workloads/eager/graph_recorder.hpp"
#include "workloads/eager/output_cache.hpp"

namespace highwater::nn {

namespace {

using eager::Node;
using eager::OutputCache;
using eager::Packed;
using eager::Ref;
using eager::SavedTensor;
using eager::SavedTensorHooks;
using eager::Scoped;

// Autocast as it was when the segment ran first; the recomputation restores it.
struct AutocastState {
  bool enabled;
  DType dtype;
  eager::AutocastCache cache;

  explicit AutocastState(const Runtime& runtime)
      : enabled(runtime.autocast.enabled),
        dtype(runtime.autocast.dtype),
        cache(runtime.autocast.caches ? eager::AutocastCache::enabled
                                      : eager::AutocastCache::disabled) {}

  [[nodiscard]] std::unique_ptr<eager::AutocastContext> restore(Runtime& runtime) const {
    return enabled ? std::make_unique<eager::AutocastContext>(runtime, dtype, cache) : nullptr;
  }
};

// _StopRecomputationError: nothing after the last saved tensor is recomputed.
struct StopRecomputation {};

class Holder;

/// Since 2.12 a list holds the positional arguments (_CheckpointFrame.saved_args), and a list
/// releases its last element first; before, a node held them.
constexpr Release kListsArguments{2, 12};

template <class Elements>
void order_by_release(const Runtime& runtime, Elements& arguments) {
  if (runtime.torch >= kListsArguments) {
    std::ranges::reverse(arguments);
  }
}

/// _CheckpointFrame: one call of the segment. Keyword arguments, which the segment holds, are freed
/// before the positional ones.
struct CheckpointFrame {
  Runtime& runtime;
  std::vector<SavedTensor> arguments;  ///< in the order of their release
  TupleSegment segment;
  AutocastState autocast;
  std::uint32_t module = 0;
  std::optional<SdpaBackend> sdpa_backend;  ///< kept: with another kernel PyTorch would fail here
  std::vector<Holder*> holders;             ///< null once the saved tensor is gone
  std::size_t recomputed = 0;
  bool is_recomputed = false;
  std::unique_ptr<OutputCache> outputs;  ///< null unless selective
  RecomputeEnd end = RecomputeEnd::last_saved;

  void recompute();
};

/// _Holder: stands in for a saved tensor; after the recomputation it has the tensor.
class Holder : public Packed {
 public:
  Holder(std::shared_ptr<CheckpointFrame> frame, std::size_t index)
      : frame_(std::move(frame)), index_(index) {}

  ~Holder() override { frame_->holders[index_] = nullptr; }

  Tensor unpack() override {
    if (!frame_->is_recomputed) {
      frame_->recompute();
    }
    return std::move(value);
  }

  Tensor value;

 private:
  std::shared_ptr<CheckpointFrame> frame_;
  std::size_t index_;
};

// _checkpoint_hook: counts the saved tensors and keeps none.
class CheckpointHook : public SavedTensorHooks {
 public:
  explicit CheckpointHook(std::shared_ptr<CheckpointFrame> frame) : frame_(std::move(frame)) {}

  Ref<Packed> pack(const Tensor& /*tensor*/) override {
    const std::size_t index = frame_->holders.size();
    frame_->holders.push_back(nullptr);  // first: a holder that dies takes its name off the list
    Ref<Packed> holder(new Holder(frame_, index));
    frame_->holders[index] = static_cast<Holder*>(holder.get());
    return holder;
  }

 private:
  std::shared_ptr<CheckpointFrame> frame_;
};

/// What the graph of the recomputation saves: the tensor itself.
class Recomputed : public Packed {
 public:
  explicit Recomputed(Tensor tensor) : tensor_(std::move(tensor)) {}

  Tensor unpack() override { return tensor_; }

 private:
  Tensor tensor_;
};

// _recomputation_hook: hands saved tensors to the holders in order of appearance.
class RecomputationHook : public SavedTensorHooks {
 public:
  explicit RecomputationHook(CheckpointFrame& frame) : frame_(frame) {}

  Ref<Packed> pack(const Tensor& tensor) override {
    const auto index = frame_.recomputed++;
    if (Holder* holder = frame_.holders[index]; holder != nullptr) {
      holder->value = eager::detach(tensor);
      frame_.runtime.categorize_transient(tensor, Category::activation);
    }
    if (frame_.end == RecomputeEnd::last_saved && frame_.recomputed == frame_.holders.size()) {
      throw StopRecomputation{};
    }
    return Ref<Packed>(new Recomputed(eager::detach(tensor)));
  }

 private:
  CheckpointFrame& frame_;
};

// The first unpack of the frame runs the segment again with gradients.
void CheckpointFrame::recompute() {
  is_recomputed = true;
  const eager::GraphBarrier barrier(runtime);
  RecomputationHook hook(*this);
  Scoped<bool> grad(runtime.grad_enabled, true);
  Scoped<std::uint32_t> path(runtime.module, module);
  Scoped<std::optional<SdpaBackend>> backend(runtime.sdpa_backend, sdpa_backend);
  if (outputs) {
    outputs->replay();
  }
  Scoped<OutputCache*> cache(runtime.output_cache, outputs.get());
  runtime.saved_tensor_hooks.push_back(&hook);
  try {
    const auto context = autocast.restore(runtime);
    std::vector<Tensor> inputs;
    for (const auto& argument : arguments) {
      inputs.push_back(argument.unpack());
    }
    order_by_release(runtime, inputs);
    if (runtime.recorder != nullptr) {
      runtime.recorder->take_arguments(this, inputs);
    }
    segment(inputs);
  } catch (const StopRecomputation&) {
    // Everything that backward needs is available.
  }
  runtime.saved_tensor_hooks.pop_back();
}

Tensor detached_input(const Tensor& input) {
  if (!input.defined()) {
    return {};
  }
  Tensor copy = eager::detach(input);
  copy->requires_grad = input.requires_grad();
  return copy;
}

// PyNode::apply: gradients of unused results become zeros.
void materialize(Node& node, TensorList& grads) {
  for (std::size_t i = 0; i < grads.size(); ++i) {
    if (!grads[i].defined()) {
      const auto& expected = node.input_metadata[i];
      eager::OpScope op(*node.runtime, "zeros");
      grads[i] = eager::empty(*node.runtime, expected.sizes, expected.dtype);
    }
  }
}

/// CheckpointFunction.backward.
struct RerunWithGradients {
  std::shared_ptr<const TupleSegment> segment;
  AutocastState autocast;
  std::size_t argument_count;
  std::uint32_t module;

  TensorList operator()(Node& node, TensorList& grads) const {
    Runtime& runtime = *node.runtime;
    Scoped<std::uint32_t> path(runtime.module, module);
    materialize(node, grads);
    std::vector<Tensor> inputs;
    for (std::size_t i = 0; i < argument_count; ++i) {
      inputs.push_back(detached_input(node.unpack(i)));
    }
    TensorList outputs = rerun(runtime, inputs);
    std::vector<Tensor> roots;
    std::vector<Tensor> root_grads;
    for (std::size_t i = 0; i < outputs.size(); ++i) {
      if (outputs[i].requires_grad()) {
        roots.push_back(std::move(outputs[i]));
        root_grads.push_back(std::move(grads[i]));
      }
    }
    {
      const eager::GraphBarrier barrier(runtime);
      eager::backward(roots, root_grads);
    }
    TensorList out;
    for (const auto& input : inputs) {
      out.push_back(input.defined() ? input->grad : Tensor{});
    }
    inputs.clear();
    eager::release_list(roots);
    eager::release_list(root_grads);
    return out;
  }

  [[nodiscard]] TensorList rerun(Runtime& runtime, const std::vector<Tensor>& inputs) const {
    const eager::GraphBarrier barrier(runtime);
    Scoped<bool> grad(runtime.grad_enabled, true);
    const auto context = autocast.restore(runtime);
    return (*segment)(inputs);
  }
};

}  // namespace

TensorList checkpoint_nonreentrant(Runtime& runtime, const TupleSegment& segment,
                                   std::vector<Tensor> arguments, Keep keep, RecomputeEnd end) {
  if (!runtime.grad_enabled) {
    return segment(arguments);
  }
  auto frame = std::make_shared<CheckpointFrame>(CheckpointFrame{runtime,
                                                                 {},
                                                                 segment,
                                                                 AutocastState(runtime),
                                                                 runtime.module,
                                                                 runtime.sdpa_backend,
                                                                 {},
                                                                 0,
                                                                 false,
                                                                 nullptr,
                                                                 end});
  if (keep != Keep::nothing) {
    frame->outputs = std::make_unique<OutputCache>(keep == Keep::torchtitan_outputs
                                                       ? eager::KeptProducts::every_second
                                                       : eager::KeptProducts::all);
  }
  for (const auto& argument : arguments) {
    frame->arguments.emplace_back(argument, eager::Saved::input);
  }
  order_by_release(runtime, frame->arguments);
  if (runtime.recorder != nullptr) {
    runtime.recorder->keep_arguments(frame.get(), arguments);
  }
  CheckpointHook hook(frame);
  Scoped<OutputCache*> cache(runtime.output_cache, frame->outputs.get());
  runtime.saved_tensor_hooks.push_back(&hook);
  TensorList results = segment(arguments);
  runtime.saved_tensor_hooks.pop_back();
  return results;
}

// CheckpointFunction of torch/utils/checkpoint.py.
TensorList checkpoint_reentrant(Runtime& runtime, const TupleSegment& segment,
                                std::vector<Tensor> arguments) {
  const auto node =
      eager::begin_node(runtime, "CheckpointFunctionBackward", std::span<const Tensor>(arguments));
  TensorList results;
  {
    const eager::GraphBarrier barrier(runtime);
    eager::NoGrad no_grad(runtime);
    results = segment(arguments);
  }
  if (!node) {
    return results;
  }
  for (const auto& argument : arguments) {
    node->save(argument);
  }
  // ctx.run_function: whatever it refers to lives until the node is deleted.
  const auto shared_segment = std::make_shared<const TupleSegment>(segment);
  node->context = shared_segment;
  node->backward =
      RerunWithGradients{shared_segment, AutocastState(runtime), arguments.size(), runtime.module};
  for (const auto& result : results) {
    node->add_output(result);
  }
  return results;
}

}  // namespace highwater::nn
