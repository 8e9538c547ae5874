// What FSDP1 does around each unit's forward and backward: gathering, prefetching and freeing its
// parameters (_runtime_utils.py, _exec_order_utils.py and _limiter_utils.py of PyTorch 2.6).
#include <utility>

#include "workloads/distributed/fsdp1/fully_sharded_data_parallel.hpp"

namespace highwater::dist {

using eager::NoGrad;
using eager::OnStream;
using eager::Tensor;

namespace {

constexpr std::size_t kMostAllGathersInFlight = 2;  // _FreeEventQueue

}  // namespace

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
  reshard(unit, freed_if(!unit.is_root && unit.handle->frees_after_forward()));
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

void FullyShardedDataParallel::reshard(Unit& unit, Unsharded unsharded) {
  unit.handle->reshard(unsharded);
  if (plan_.limit_all_gathers && unsharded == Unsharded::freed) {
    free_events_.push_back({.stream = runtime_.stream, .moment = runtime_.record_event()});
  }
  unit.handle->post_reshard();
  unit.is_prefetched = false;
}

// _post_backward_reshard.
void FullyShardedDataParallel::reshard_in_backward(Unit& unit) {
  reshard(unit, after_backward(*unit.handle));
  prefetch(unit, HandleState::backward_post);
}

Unsharded FullyShardedDataParallel::after_backward(const FlatParamHandle& handle) const {
  return freed_if(handle.is_sharded_strategy() &&
                  (syncs_gradients_ || handle.frees_after_forward()));
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
      reshard(*unit, after_backward(*unit->handle));
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
