#include "workloads/distributed/fsdp2/fsdp_state.hpp"

#include <algorithm>
#include <memory>
#include <ranges>
#include <utility>

namespace highwater::dist {

using eager::Runtime;
using eager::Tensor;
using eager::TensorList;

namespace {

bool wants_gradient(const Tensor& tensor) {
  return tensor.defined() && tensor.requires_grad();
}

class BlockHooks : public nn::ForwardHooks {
 public:
  explicit BlockHooks(FsdpState& state) : state_(state) {}

  void before(std::span<Tensor> arguments) override { state_.pre_forward(arguments); }

  void after(std::span<const Tensor> /*arguments*/, std::span<Tensor> results) override {
    state_.post_forward(results);
  }

 private:
  FsdpState& state_;
};

// _register_group_forward_hooks: the unit's forward begins with the first of its modules and ends
// with the last.
class GroupHooks : public nn::ForwardHooks {
 public:
  GroupHooks(FsdpState& state, const std::vector<nn::Module*>& modules, const nn::Module& module)
      : state_(state), modules_(modules), module_(module) {}

  void before(std::span<Tensor> arguments) override {
    if (state_.modules_to_run.empty()) {
      state_.modules_to_run.insert(modules_.begin(), modules_.end());
    }
    state_.pre_forward(arguments);
  }

  void after(std::span<const Tensor> /*arguments*/, std::span<Tensor> results) override {
    if (state_.modules_to_run.erase(&module_) > 0 && state_.modules_to_run.empty()) {
      state_.post_forward(results);
    }
  }

 private:
  FsdpState& state_;
  std::vector<nn::Module*> modules_;
  const nn::Module& module_;
};

}  // namespace

// In a recomputation, the hooks of backward manage the parameters.
void FsdpState::pre_forward(std::span<Tensor> arguments) {
  if (phase_ == FsdpPhase::pre_backward) {
    return;
  }
  const bool is_first = phase_ != FsdpPhase::forward;
  phase_ = FsdpPhase::forward;
  if (is_first) {
    root_pre_forward();
  }
  cast_forward_inputs(arguments);
  if (has_group()) {
    const bool is_entering = !group_.is_in_forward();
    group_.pre_forward();
    if (is_entering) {
      register_post_backward_hook(arguments);
    }
  }
}

void FsdpState::root_pre_forward() {
  lazy_init();
  if (shared_.iteration_root == nullptr) {
    shared_.iteration_root = this;
  }
}

void FsdpState::lazy_init() {
  if (shared_.is_initialized) {
    return;
  }
  shared_.is_initialized = true;
  if (shared_.keeps_root) {
    group_.keep_after_forward();
  }
  Runtime& runtime = shared_.context.groups.shard.runtime();
  shared_.context.streams = {.all_gather_copy_in = runtime.make_stream(),
                             .reduce_scatter = runtime.make_stream(),
                             .all_reduce = runtime.make_stream()};
  for (const auto& state : shared_.states) {
    for (FsdpParam& param : state->group().params()) {
      param.reset_sharded_param();
    }
  }
}

void FsdpState::cast_forward_inputs(std::span<Tensor> arguments) const {
  const auto& dtype = shared_.context.precision.param;
  if (!dtype) {
    return;
  }
  for (Tensor& argument : arguments) {
    if (argument.defined() && is_floating_point(argument.dtype())) {
      argument = eager::to_dtype(argument, *dtype);
    }
  }
}

// RegisterPostBackwardFunction: passes the arguments through. Its backward runs after the block's.
void FsdpState::register_post_backward_hook(std::span<Tensor> arguments) {
  Runtime& runtime = shared_.context.groups.shard.runtime();
  std::vector<Tensor*> places;
  std::vector<Tensor> inputs;
  for (Tensor& argument : arguments) {
    if (wants_gradient(argument)) {
      places.push_back(&argument);
      inputs.push_back(argument);
    }
  }
  const auto node = eager::begin_node(runtime, "RegisterPostBackwardFunctionBackward",
                                      std::span<const Tensor>(inputs));
  if (!node) {
    return;
  }
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    *places[i] = eager::alias(inputs[i]);
    node->add_output(*places[i]);
  }
  node->backward = [this](eager::Node&, TensorList& grads) {
    group_.post_backward();
    return std::exchange(grads, {});
  };
}

void FsdpState::post_forward(std::span<Tensor> results) {
  if (phase_ == FsdpPhase::pre_backward) {
    return;
  }
  if (has_group()) {
    group_.post_forward();
  }
  register_pre_backward_hook(results);
  phase_ = FsdpPhase::idle;
  if (shared_.iteration_root == this) {
    complete_others(results);
    shared_.context.all_gather_state.reset();
    shared_.iteration_root = nullptr;
  }
}

// _force_complete_incomplete_states.
void FsdpState::complete_others(std::span<Tensor> results) {
  for (const auto& state : std::views::reverse(shared_.states)) {
    if (state.get() != this && !state->modules_to_run.empty()) {
      state->complete(results);
    }
  }
}

void FsdpState::complete(std::span<Tensor> results) {
  group_.post_forward();
  register_pre_backward_hook(results);
  phase_ = FsdpPhase::idle;
  modules_to_run.clear();
}

void FsdpState::register_pre_backward_hook(std::span<Tensor> results) {
  if (!shared_.context.groups.shard.runtime().grad_enabled) {
    return;
  }
  for (const Tensor& result : results) {
    if (wants_gradient(result)) {
      const auto node = eager::gradient_node(shared_.context.groups.shard.runtime(), result);
      node->pre_hooks.emplace_back([this] { pre_backward(); });
      if (result.is_leaf()) {
        hooked_leaves_.push_back(node);
      }
    }
  }
}

// Shard._to_replicate_tensor in distributed/tensor/placement_types.py: shards that lack rows are
// padded; the padding of the whole is not copied away.
Tensor FsdpState::full_tensor(const Tensor& parameter) {
  const auto& params = group_.params();
  const auto own = std::ranges::find(params, parameter.get(),
                                     [](const FsdpParam& each) { return each.unsharded().get(); });
  if (group_.is_unsharded() || own == params.end()) {
    return parameter;
  }
  return own->full_tensor(shared_.context.groups.shard);
}

void FsdpState::pre_backward() {
  phase_ = FsdpPhase::pre_backward;
  if (!shared_.is_callback_queued) {
    shared_.is_callback_queued = true;
    shared_.context.groups.shard.runtime().final_callbacks.emplace_back(
        [this] { root_post_backward_final_callback(); });
  }
  if (has_group()) {
    group_.pre_backward();
  }
}

// Groups whose inputs needed no gradient, such as the root, are still gathered. Before the last
// backward, nothing waits for reductions, and the order of gathering is not forgotten.
void FsdpState::root_post_backward_final_callback() {
  shared_.iteration_root = nullptr;
  for (const auto& state : shared_.states) {
    state->modules_to_run.clear();
    if (state->group_.is_unsharded()) {
      state->group_.post_backward();
    }
    state->phase_ = FsdpPhase::idle;
    state->hooked_leaves_.clear();
    state->group_.set_idle();
    if (shared_.context.is_last_backward && !shared_.context.is_recent()) {
      state->group_.finalize_backward();
    }
  }
  if (shared_.context.is_last_backward) {
    finalize_all();
    shared_.context.post_forward_order.clear();
    shared_.context.reduce_scatter_state.reset();
  }
  shared_.is_callback_queued = false;
}

// 2.15: wait_for_gradient_reduction, after all groups have reduced.
void FsdpState::finalize_all() {
  if (shared_.context.is_recent()) {
    for (const auto& state : shared_.states) {
      state->group_.finalize_backward();
    }
  }
}

void hook_into(FsdpState& state, const std::vector<nn::Module*>& modules) {
  if (modules.size() == 1) {
    modules.front()->add_forward_hooks(std::make_shared<BlockHooks>(state));
    return;
  }
  for (nn::Module* module : modules) {
    module->add_forward_hooks(std::make_shared<GroupHooks>(state, modules, *module));
  }
}

}  // namespace highwater::dist
