#include "workloads/distributed/fsdp1/fully_sharded_data_parallel.hpp"

#include <algorithm>
#include <utility>

#include "workloads/distributed/broadcast_coalesced.hpp"
#include "workloads/nn/blocks.hpp"
#include "workloads/plan/offload.hpp"

namespace highwater::dist {

using eager::NoGrad;
using eager::OnStream;
using eager::Tensor;

namespace {

constexpr std::size_t kMostAllGathersInFlight = 2;  // _FreeEventQueue

constexpr StreamId kDefaultStream{0U};

int shard_ranks(const Parallelism& plan) {
  const bool is_hybrid = plan.fsdp.strategy == ShardingStrategy::hybrid_shard;
  return is_hybrid ? plan.dp / plan.fsdp.replicas : plan.dp;
}

std::vector<Tensor> tensors_of(const models::Outputs& outputs) {
  std::vector<Tensor> tensors{outputs.loss, outputs.logits, outputs.encoder_states,
                              outputs.scores.log_probs, outputs.scores.entropy};
  tensors.insert(tensors.end(), outputs.logit_chunks.begin(), outputs.logit_chunks.end());
  return tensors;
}

bool is_trained_leaf(nn::Module& module) {
  return module.children().empty() && !module.own_parameters().empty() &&
         module.own_parameters().front().tensor.requires_grad();
}

/// The modules that a policy chooses, in the order in which _recursive_wrap wraps them: children
/// before their module.
class WrapPolicy {
 public:
  explicit WrapPolicy(nn::Module& root)
      : blocks_(nn::transformer_blocks(root)),
        wraps_adapters_(root.context().plan.parallel.fsdp.units == FsdpUnits::adapters) {
    visit(root);
  }

  std::vector<nn::Module*> wrapped;

 private:
  void visit(nn::Module& module) {
    for (nn::Module* child : module.children()) {
      visit(*child);
      if (std::ranges::find(blocks_, child) != blocks_.end() ||
          (wraps_adapters_ && is_trained_leaf(*child))) {
        wrapped.push_back(child);
      }
    }
  }

  std::vector<nn::Module*> blocks_;
  bool wraps_adapters_;
};

std::vector<nn::Module*> wrapped_modules(nn::Module& root) {
  return WrapPolicy(root).wrapped;
}

// _move_module_to_device in fsdp/_init_utils.py: breadth first, without nested units, parameters
// before buffers.
void move_to_device(nn::Module& unit) {
  std::vector<nn::Module*> modules{&unit};
  for (std::size_t i = 0; i < modules.size(); ++i) {
    std::ranges::copy_if(modules[i]->children(), std::back_inserter(modules),
                         [](const nn::Module* child) { return !child->is_wrapped(); });
  }
  for (nn::Module* module : modules) {
    nn::move_own_parameters_to_cuda(*module);
  }
  for (nn::Module* module : modules) {
    nn::move_buffers_to_cuda(*module);
  }
}

}  // namespace

/// FSDP(block): its forward surrounds the block's call.
class FullyShardedDataParallel::UnitHooks : public nn::ForwardHooks {
 public:
  UnitHooks(FullyShardedDataParallel& owner, Unit& unit) : owner_(owner), unit_(unit) {}

  void before(std::span<Tensor> arguments) override { owner_.pre_forward(unit_, arguments); }

  void after(std::span<const Tensor> /*arguments*/, std::span<Tensor> results) override {
    owner_.post_forward(unit_, results);
  }

 private:
  FullyShardedDataParallel& owner_;
  Unit& unit_;
};

FullyShardedDataParallel::FullyShardedDataParallel(models::LanguageModel& model,
                                                   const Parallelism& plan)
    : model_(model),
      runtime_(model.runtime()),
      plan_(plan.fsdp),
      offload_params_(offloads_params(plan)),
      rank_(rank_place(plan).dp % shard_ranks(plan)),
      shards_(runtime_, shard_ranks(plan), plan.backend) {
  if (plan.fsdp.strategy == ShardingStrategy::hybrid_shard) {
    replicas_.emplace(runtime_, plan.fsdp.replicas, plan.backend);
  }
  runtime_.counts_host_memory |= offload_params_;
  FlattenedParams flattened;
  for (nn::Module* module : wrapped_modules(model)) {
    add_unit(*module, flattened);
  }
  for (const auto& unit : units_) {
    unit->module->set_wrapper(std::make_shared<UnitHooks>(*this, *unit));
  }
  add_unit(model, flattened);
  units_.back()->is_root = true;
  sort_units();
  if (runs_accelerate(model.context().plan.framework) && plan_.param_dtype) {
    for (const auto& unit : units_) {
      unit->handle->upcast();
    }
  }
}

// _get_fsdp_states_with_modules: a module comes before its children.
void FullyShardedDataParallel::sort_units() {
  std::vector<const nn::Module*> order;
  const auto visit = [&](auto& self, const nn::Module& module) -> void {
    order.push_back(&module);
    for (const nn::Module* child : module.children()) {
      self(self, *child);
    }
  };
  visit(visit, model_);
  std::ranges::sort(units_, {}, [&order](const std::unique_ptr<Unit>& unit) {
    return std::ranges::find(order, unit->module) - order.begin();
  });
}

FullyShardedDataParallel::~FullyShardedDataParallel() {
  for (const auto& unit : units_) {
    for (const auto& node : unit->hooked) {
      node->post_hook = nullptr;
    }
  }
}

void FullyShardedDataParallel::add_unit(nn::Module& module, FlattenedParams& flattened) {
  move_to_device(module);
  if (runs_trainer(model_.context().plan.framework)) {
    sync_states(module, flattened);
  }
  Unit& unit = *units_.emplace_back(std::make_unique<Unit>());
  unit.module = &module;
  unit.handle =
      std::make_unique<FlatParamHandle>(module, flattened, shards_, rank_, plan_, offload_params_);
}

// sync_module_states=True (transformers 5.23, training_args.py _process_fsdp_args): buffers that no
// unit before has sent, and what the unit is about to flatten.
void FullyShardedDataParallel::sync_states(nn::Module& module, const FlattenedParams& flattened) {
  std::vector<Tensor> states;
  for (const auto& entry : nn::named_buffers(module)) {
    if (synced_buffers_.insert(entry.tensor.get()).second) {
      states.push_back(entry.tensor);
    }
  }
  for (const auto& entry : nn::named_parameters(module)) {
    if (!flattened.contains(entry.tensor.get())) {
      states.push_back(eager::detach(entry.tensor));
    }
  }
  broadcast_coalesced(shards_, states);
}

std::vector<Tensor> FullyShardedDataParallel::parameters() const {
  if (plan_.use_orig_params) {
    return nn::trainable_parameters(model_);
  }
  std::vector<Tensor> flat;
  for (const auto& unit : units_) {
    flat.push_back(unit->handle->flat_param);
  }
  return flat;
}

models::Outputs FullyShardedDataParallel::forward(models::Inputs inputs) {
  Unit& root = *units_.front();
  lazy_init();
  root_pre_forward();
  pre_forward(root, {});
  models::Outputs outputs = model_.forward(std::move(inputs));
  post_forward(root, tensors_of(outputs));
  return outputs;
}

void FullyShardedDataParallel::lazy_init() {
  if (streams_) {
    return;
  }
  streams_ = {.unshard = runtime_.make_stream(),
              .post_backward = runtime_.make_stream(),
              .pre_unshard = runtime_.make_stream(),
              .all_reduce = replicas_ ? runtime_.make_stream() : kDefaultStream};
  cast_buffers();
  for (const auto& unit : units_) {
    unit->handle->init_attributes();
  }
}

// _get_buffers_and_dtypes_for_computation goes through the units from the last to the first.
void FullyShardedDataParallel::cast_buffers() {
  if (!plan_.param_dtype) {
    return;
  }
  const NoGrad no_grad(runtime_);
  for (auto unit = units_.rbegin(); unit != units_.rend(); ++unit) {
    for (const auto& buffer : nn::named_buffers(*(*unit)->module)) {
      if (is_floating_point(buffer.tensor.dtype())) {
        set_data(buffer.tensor, eager::to_dtype(eager::detach(buffer.tensor), *plan_.param_dtype));
        runtime_.categorize(buffer.tensor, Category::buffer);
      }
    }
  }
}

void FullyShardedDataParallel::root_pre_forward() {
  if (plan_.forward_prefetch) {
    for (const auto& unit : units_) {
      unit->needs_pre_forward_unshard = true;
      unit->is_prefetched = false;
    }
  }
  runtime_.wait_stream(streams_->unshard, runtime_.stream);
  runtime_.wait_stream(streams_->pre_unshard, runtime_.stream);
  for (const auto& unit : units_) {
    unit->handle->reset_flat_param_grad_if_needed();
  }
}

void FullyShardedDataParallel::pre_forward(Unit& unit, std::span<Tensor> arguments) {
  record_pre_forward(unit);
  unit.handle->state = HandleState::forward;
  if (!unit.is_prefetched) {
    unshard(unit);
  }
  unit.needs_pre_forward_unshard = false;
  runtime_.wait_stream(runtime_.stream, streams_->unshard);
  prefetch(unit, HandleState::forward);
  hook_post_backward(unit);
  if (plan_.param_dtype) {  // _cast_forward_inputs
    for (Tensor& argument : arguments) {
      if (argument.defined() && is_floating_point(argument.dtype())) {
        argument = eager::to_dtype(argument, *plan_.param_dtype);
      }
    }
  }
  hook_reshard_only(unit, arguments);
}

// _post_forward, _register_pre_backward_hooks.
void FullyShardedDataParallel::post_forward(Unit& unit, std::span<const Tensor> results) {
  record_post_forward(unit);
  reshard(unit, !unit.is_root && unit.handle->frees_after_forward());
  if (runtime_.grad_enabled) {
    unit.needs_pre_backward_unshard = false;
    unit.ran_pre_backward = false;
    for (const Tensor& result : results) {
      if (result.defined() && result.requires_grad()) {
        eager::gradient_node(runtime_, result)->pre_hooks.emplace_back([this, &unit] {
          pre_backward(unit);
        });
        unit.needs_pre_backward_unshard = true;
      }
    }
  }
  unit.handle->state = HandleState::idle;
}

void FullyShardedDataParallel::pre_backward(Unit& unit) {
  if (unit.ran_pre_backward) {
    return;
  }
  if (unit.is_root && !has_final_callback_) {
    has_final_callback_ = true;
    runtime_.final_callbacks.emplace_back([this] { final_callback(); });
    for (const auto& each : units_) {
      each->handle->reset_flat_param_grad_if_needed();
    }
  }
  unit.handle->state = HandleState::backward_pre;
  if (unit.needs_pre_backward_unshard) {
    if (!unit.is_prefetched) {
      unshard(unit);
    }
    runtime_.wait_stream(runtime_.stream, streams_->unshard);
  }
  unit.needs_pre_backward_unshard = false;
  prefetch(unit, HandleState::backward_pre);
  unit.handle->prepare_gradient_for_backward();
  unit.ran_pre_backward = true;
}

void FullyShardedDataParallel::post_backward(Unit& unit) {
  const NoGrad no_grad(runtime_);
  FlatParamHandle& handle = *unit.handle;
  handle.post_backward_called = true;
  handle.state = HandleState::backward_post;
  if (!handle.flat_param->grad.defined()) {
    return;
  }
  reshard_in_backward(unit);
  if (!syncs_gradients_) {
    if (plan_.use_orig_params) {
      handle.use_unsharded_grad_views();
    }
    return;
  }
  runtime_.wait_stream(streams_->post_backward, runtime_.stream);
  const OnStream stream(runtime_, streams_->post_backward);
  reduce_gradient(unit);
}

void FullyShardedDataParallel::unshard(Unit& unit) {
  bool has_cast = false;
  {
    const OnStream stream(runtime_, streams_->pre_unshard);
    has_cast = unit.handle->pre_unshard();
  }
  if (has_cast) {
    runtime_.wait_stream(streams_->unshard, streams_->pre_unshard);
  }
  if (plan_.limit_all_gathers) {
    wait_for_free_slot();
  }
  const OnStream stream(runtime_, streams_->unshard);
  unit.handle->unshard();
  unit.handle->post_unshard();
}

// The rate limiter: the host waits until the parameters of the unit before the last are free.
void FullyShardedDataParallel::wait_for_free_slot() {
  if (free_events_.size() >= kMostAllGathersInFlight) {
    runtime_.synchronize(free_events_.front().stream, free_events_.front().moment);
    free_events_.pop_front();
  }
}

void FullyShardedDataParallel::reshard(Unit& unit, bool free_unsharded) {
  unit.handle->reshard(free_unsharded);
  if (plan_.limit_all_gathers && free_unsharded) {
    free_events_.push_back({.stream = runtime_.stream, .moment = runtime_.record_event()});
  }
  unit.handle->post_reshard();
  unit.is_prefetched = false;
}

// _post_backward_reshard.
void FullyShardedDataParallel::reshard_in_backward(Unit& unit) {
  reshard(unit, frees_in_backward(*unit.handle));
  prefetch(unit, HandleState::backward_post);
}

bool FullyShardedDataParallel::frees_in_backward(const FlatParamHandle& handle) const {
  return handle.is_sharded_strategy() && (syncs_gradients_ || handle.frees_after_forward());
}

void FullyShardedDataParallel::prefetch(Unit& unit, HandleState mode) {
  Unit* next = next_to_prefetch(unit, mode);
  if (next == nullptr) {
    return;
  }
  const HandleState gathering =
      mode == HandleState::forward ? HandleState::forward : HandleState::backward_pre;
  const HandleState before = std::exchange(next->handle->state, gathering);
  unshard(*next);
  next->handle->state = before;
  next->is_prefetched = true;
}

bool FullyShardedDataParallel::prefetches_in(HandleState backward) const {
  return plan_.backward_prefetch ==
         (backward == HandleState::backward_pre ? BackwardPrefetch::pre : BackwardPrefetch::post);
}

FullyShardedDataParallel::Unit* FullyShardedDataParallel::next_to_prefetch(const Unit& unit,
                                                                           HandleState mode) const {
  if (mode == HandleState::forward) {
    const std::size_t next = unit.pre_forward_index.value_or(pre_forward_order_.size()) + 1;
    if (!plan_.forward_prefetch || next >= pre_forward_order_.size()) {
      return nullptr;
    }
    Unit* candidate = pre_forward_order_[next];
    return candidate->needs_pre_forward_unshard && !candidate->is_prefetched ? candidate : nullptr;
  }
  if (!prefetches_in(mode) || unit.post_forward_index.value_or(0) == 0) {
    return nullptr;
  }
  Unit* candidate = post_forward_order_[*unit.post_forward_index - 1];
  return candidate->needs_pre_backward_unshard && !candidate->is_prefetched ? candidate : nullptr;
}

void FullyShardedDataParallel::record_pre_forward(Unit& unit) {
  if (is_first_iteration_ && !unit.pre_forward_index) {
    unit.pre_forward_index = pre_forward_order_.size();
    pre_forward_order_.push_back(&unit);
  }
}

void FullyShardedDataParallel::record_post_forward(Unit& unit) {
  if (unit.post_forward_index.value_or(0) == 0) {  // Python takes the index 0 for none
    unit.post_forward_index = post_forward_order_.size();
  }
  post_forward_order_.push_back(&unit);
}

void FullyShardedDataParallel::hook_post_backward(Unit& unit) {
  const Tensor& flat = unit.handle->flat_param;
  if (!runtime_.grad_enabled || unit.is_hooked || !flat->requires_grad) {
    return;
  }
  unit.is_hooked = true;
  unit.hooked.push_back(eager::gradient_node(runtime_, flat));
  unit.hooked.back()->post_hook = [this, &unit](Tensor&) { post_backward(unit); };
}

// A frozen unit is resharded once the gradients of all its inputs are available.
void FullyShardedDataParallel::hook_reshard_only(Unit& unit, std::span<const Tensor> arguments) {
  if (!runtime_.grad_enabled || unit.is_hooked || unit.handle->flat_param->requires_grad) {
    return;
  }
  unit.is_hooked = true;
  const auto missing = std::make_shared<std::size_t>(0);
  for (const Tensor& argument : arguments) {
    if (argument.defined() && argument.requires_grad()) {
      ++*missing;
      unit.hooked.push_back(eager::gradient_node(runtime_, argument));
      unit.hooked.back()->pre_hooks.emplace_back([this, &unit, missing] {
        if (--*missing == 0) {
          unit.handle->state = HandleState::backward_post;
          reshard_in_backward(unit);
        }
      });
    }
  }
}

// _post_backward_final_callback.
void FullyShardedDataParallel::final_callback() {
  const NoGrad no_grad(runtime_);
  if (syncs_gradients_) {
    runtime_.wait_stream(runtime_.stream, streams_->post_backward);
    runtime_.wait_stream(runtime_.stream, streams_->all_reduce);
    if (offload_params_) {
      runtime_.synchronize();
    }
  }
  is_first_iteration_ = false;
  post_forward_order_.clear();
  for (const auto& unit : units_) {
    if (!unit->handle->is_resharded()) {  // _catch_all_reshard
      reshard(*unit, frees_in_backward(*unit->handle));
    }
    finalize(*unit);
    unit->ran_pre_backward = false;
    unit->needs_pre_backward_unshard = false;
    unit->post_forward_index.reset();
    unit->handle->state = HandleState::idle;
    unit->is_prefetched = false;
  }
  has_final_callback_ = false;
}

// _finalize_params.
void FullyShardedDataParallel::finalize(Unit& unit) {
  for (const auto& node : unit.hooked) {
    node->post_hook = nullptr;
  }
  unit.hooked.clear();
  unit.is_hooked = false;
  if (unit.handle->flat_param->requires_grad && syncs_gradients_) {
    unit.handle->prepare_gradient_for_optim();
    unit.handle->post_backward_called = false;
  }
}

}  // namespace highwater::dist
