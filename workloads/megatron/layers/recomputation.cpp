#include "workloads/megatron/layers/recomputation.hpp"

#include <iterator>
#include <utility>

#include "workloads/eager/graph_recorder.hpp"
#include "workloads/eager/node.hpp"
#include "workloads/eager/ops.hpp"
#include "workloads/plan/training_plan.hpp"

namespace highwater::megatron {

using eager::Node;
using eager::Scoped;

bool recomputes(const nn::ModelContext& context, RecomputeModule module) {
  const TrainingPlan& plan = context.plan;
  return context.training && plan.checkpoint.kind == CheckpointKind::selective_attention &&
         plan.parallel.megatron.recompute_modules.contains(module);
}

TensorList checkpointed(nn::ModelContext& context, RecomputeModule module,
                        const nn::TupleSegment& segment, const std::vector<Tensor>& arguments) {
  return recomputes(context, module) ? nn::checkpoint_reentrant(context.runtime, segment, arguments)
                                     : segment(arguments);
}

namespace {

Tensor detached(const Tensor& tensor) {
  Tensor copy = eager::detach(tensor);
  copy->requires_grad = tensor.requires_grad();
  return copy;
}

}  // namespace

/// What the second run leaves to ctx.
struct CheckpointWithoutOutput::Recomputed {
  std::vector<Tensor> inputs;
  TensorList results;

  TensorList backward(TensorList& grads);
};

// CheckpointWithoutOutputFunction.backward.
TensorList CheckpointWithoutOutput::Recomputed::backward(TensorList& grads) {
  std::vector<Tensor> roots(results.begin(), results.end());
  std::vector<Tensor> root_grads(std::make_move_iterator(grads.begin()),
                                 std::make_move_iterator(grads.end()));
  {
    const eager::GraphBarrier barrier(roots.front().runtime());
    eager::backward(roots, root_grads);
  }
  eager::release_list(roots);
  eager::release_list(results);
  eager::release_list(root_grads);
  TensorList of_inputs;
  for (const Tensor& input : inputs) {
    of_inputs.push_back(input->grad);
  }
  inputs.clear();
  return of_inputs;
}

/// The Python object, which the reader's hook holds.
struct CheckpointWithoutOutput::State {
  nn::TupleSegment segment;
  std::uint32_t module = 0;
  eager::Ref<Node> node;  ///< CheckpointWithoutOutputFunction's; null without gradients
  std::shared_ptr<Recomputed> left;
  TensorList results;  ///< without blocks once they are discarded

  void recompute();
};

// _recompute: the blocks of the results come back beside those of the second run, which live until
// the node has run backward.
void CheckpointWithoutOutput::State::recompute() {
  if (!node) {  // it has been triggered before
    return;
  }
  eager::Runtime& runtime = *node->runtime;
  const eager::GraphBarrier barrier(runtime);
  const Scoped<std::uint32_t> path(runtime.module, module);
  for (std::size_t i = 0; i < node->saved.size(); ++i) {
    left->inputs.push_back(detached(node->unpack(i)));
  }
  {
    const Scoped<bool> grad(runtime.grad_enabled, true);
    left->results = segment(left->inputs);
  }
  segment = nullptr;
  for (std::size_t i = 0; i < results.size(); ++i) {
    runtime.allocate_block(*results[i]->storage, left->results[i]->storage->bytes);
  }
  results.clear();
  node.reset();
}

CheckpointWithoutOutput::CheckpointWithoutOutput(nn::ModelContext& context, RecomputeModule module)
    : context_(context),
      state_(recomputes(context, module) ? std::make_shared<State>() : nullptr) {}

TensorList CheckpointWithoutOutput::operator()(nn::TupleSegment segment,
                                               const std::vector<Tensor>& arguments) {
  if (!state_) {
    return segment(arguments);
  }
  eager::Runtime& runtime = context_.runtime;
  const auto node = eager::begin_node(runtime, "CheckpointWithoutOutputFunctionBackward",
                                      std::span<const Tensor>(arguments));
  {
    const eager::GraphBarrier barrier(runtime);
    const eager::NoGrad no_grad(runtime);
    state_->results = segment(arguments);
  }
  if (!node) {
    return state_->results;
  }
  for (const Tensor& argument : arguments) {
    node->save(detached(argument));
  }
  state_->segment = std::move(segment);
  state_->module = runtime.module;
  state_->node = static_cast<const eager::Ref<Node>&>(node);
  state_->left = std::make_shared<Recomputed>();
  node->backward = [left = state_->left](Node&, TensorList& grads) {
    return left->backward(grads);
  };
  for (const Tensor& result : state_->results) {
    node->add_output(result);
  }
  return state_->results;
}

void CheckpointWithoutOutput::discard(const Tensor& reader) {
  if (!state_) {
    return;
  }
  for (const Tensor& result : state_->results) {
    context_.runtime.free_block(*result->storage);
  }
  if (state_->node && reader.requires_grad()) {
    eager::gradient_node(context_.runtime, reader)->pre_hooks.emplace_back([state = state_] {
      state->recompute();
    });
  } else {
    state_->results.clear();
  }
}

}  // namespace highwater::megatron
