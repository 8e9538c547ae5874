#include "workloads/distributed/fsdp2/fsdp_param_group.hpp"

#include <utility>

#include "workloads/nn/backward_pass.hpp"

namespace highwater::dist {

using eager::Tensor;

namespace {

/// From here on inputs of reductions are in a list, which is emptied before it is known whether
/// there are gradients.
constexpr Release kListsReductions{2, 12};

}  // namespace

// The whole parameters are released when fully_shard returns.
FsdpParamGroup::FsdpParamGroup(FsdpContext& context, std::span<const Tensor> params,
                               ShardPlace place, AfterUse after_forward)
    : context_(context), after_forward_(after_forward) {
  params_.reserve(params.size());
  for (const Tensor& param : params) {
    params_.emplace_back(param, place, context.precision, context.offload_to_cpu);
  }
  for (FsdpParam& param : params_) {
    param.drop_original();
  }
}

void FsdpParamGroup::unshard(StreamId stream) {
  if (all_gather_result_.defined() || is_unsharded_) {
    return;
  }
  const ProcessGroup& group = context_.groups.shard;
  all_gather_result_ = group.size() > 1 ? foreach_all_gather(params_, context_.groups, stream)
                                        : eager::empty(group.runtime(), {0}, DType::uint8);
}

void FsdpParamGroup::gather() {
  unshard(context_.groups.shard.runtime().stream);
  wait_for_unshard();
}

// In forward the gathered block stays until the next group has gathered its own, so that both may
// overlap. (In 2.6 a local variable of the frame holds it until the end.)
void FsdpParamGroup::wait_for_unshard() {
  if (!all_gather_result_.defined()) {
    return;
  }
  Tensor previous;
  if (phase_ == FsdpPhase::forward) {
    previous = std::exchange(context_.all_gather_state, {});
  }
  if (context_.is_recent()) {
    previous.reset();
  }
  if (context_.groups.shard.size() > 1) {
    foreach_all_gather_copy_out(all_gather_result_, params_);
  } else {
    copy_own();
  }
  is_unsharded_ = true;
  if (phase_ == FsdpPhase::forward) {
    context_.all_gather_state = all_gather_result_;
  }
  all_gather_result_.reset();
}

// wait_for_unshard on one rank: each parameter is cast, then copied to where it would be gathered.
void FsdpParamGroup::copy_own() {
  const eager::NoGrad no_grad(context_.groups.shard.runtime());
  Tensor all_gather_input;
  for (FsdpParam& param : params_) {
    all_gather_input = eager::to_dtype(param.sharded(), param.unsharded().dtype());
    param.allocate_unsharded();
  }
}

void FsdpParamGroup::reshard() {
  const bool stays = phase_ == FsdpPhase::forward && after_forward_ == AfterUse::keep;
  if (stays || !is_unsharded_) {
    return;
  }
  for (FsdpParam& param : params_) {
    param.free_unsharded();
  }
  is_unsharded_ = false;
}

void FsdpParamGroup::reshard_after_backward() {
  if (after_backward_ == AfterUse::reshard && context_.reshards_after_backward) {
    reshard();
  }
}

void FsdpParamGroup::pre_forward() {
  phase_ = FsdpPhase::forward;
  unshard(context_.streams.all_gather_copy_in);
  wait_for_unshard();
}

void FsdpParamGroup::post_forward() {
  reshard();
  post_forward_indices_.push_back(context_.post_forward_order.size());
  context_.post_forward_order.push_back(this);
  phase_ = FsdpPhase::idle;
}

void FsdpParamGroup::pre_backward() {
  if (phase_ == FsdpPhase::pre_backward) {
    return;
  }
  phase_ = FsdpPhase::pre_backward;
  unshard(context_.streams.all_gather_copy_in);
  wait_for_unshard();
  for (FsdpParam& param : params_) {
    param.defer_upcast(reduces());
  }
  backward_prefetch();
}

// The group whose forward ended before this one's is expected next.
void FsdpParamGroup::backward_prefetch() {
  if (post_forward_indices_.empty()) {
    return;
  }
  const std::size_t index = post_forward_indices_.back();
  post_forward_indices_.pop_back();
  if (index > 0) {
    context_.post_forward_order[index - 1]->unshard(context_.streams.all_gather_copy_in);
  }
}

void FsdpParamGroup::post_backward() {
  phase_ = FsdpPhase::post_backward;
  for (FsdpParam& param : params_) {
    param.accumulate_unsharded_grad_if_needed();
  }
  if (reduces()) {
    reduce();
  } else {
    keep_unreduced();
  }
}

void FsdpParamGroup::keep_unreduced() {
  if (!context_.is_recent()) {
    reshard_after_backward();
  }
  for (FsdpParam& param : params_) {
    param.to_accumulated_grad_if_needed();
  }
  if (context_.is_recent()) {
    reshard_after_backward();
  }
}

void FsdpParamGroup::reduce() {
  const eager::Runtime& runtime = context_.groups.shard.runtime();
  std::vector<FsdpParam*> with_grad;
  std::vector<Tensor> grads;
  for (FsdpParam& param : params_) {
    if (Tensor grad = param.take_unsharded_grad(); grad.defined()) {
      with_grad.push_back(&param);
      grads.push_back(std::move(grad));
    }
  }
  for (FsdpParam& param : params_) {
    param.upcast_from_now_on();
  }
  reshard_after_backward();
  Tensor previous;  // reduce_scatter_states: until 2.12 a loop variable holds the last one
  if (runtime.torch >= kListsReductions) {
    previous = std::move(context_.reduce_scatter_state);
  }
  if (runtime.torch > kListsReductions) {
    previous.reset();
  }
  if (grads.empty()) {
    return;
  }
  context_.reduce_scatter_state.reset();
  wait_for_post_backward();
  all_reduce_state_ = foreach_reduce(with_grad, std::move(grads), context_.groups, context_.streams,
                                     context_.precision.reduce);
  context_.reduce_scatter_state = std::move(all_reduce_state_.reduce_scatter_input);
}

void FsdpParamGroup::wait_for_post_backward() {
  std::exchange(all_reduce_state_.all_reduce, {}).wait();
  all_reduce_state_.all_reduce_input.reset();
}

// Releases a block that was prefetched in vain.
void FsdpParamGroup::finalize_backward() {
  wait_for_post_backward();
  for (FsdpParam& param : params_) {
    param.wait_for_grad_offload(context_.streams.reduce_scatter);
  }
  all_gather_result_.reset();
  post_forward_indices_.clear();
}

}  // namespace highwater::dist
