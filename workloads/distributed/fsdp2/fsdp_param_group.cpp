#include "workloads/distributed/fsdp2/fsdp_param_group.hpp"

#include <utility>

namespace highwater::dist {

using eager::Tensor;

namespace {

// wait_for_unshard in _fsdp_param_group.py of 2.6 keeps the last gathered block in a variable while
// it copies the next one out; 2.15 does not.
constexpr Release kReleasesBeforeCopyOut{2, 15};

}  // namespace

// The whole parameters are released when fully_shard returns.
FsdpParamGroup::FsdpParamGroup(FsdpContext& context, std::span<const Tensor> params,
                               ShardPlace place, bool reshards_after_forward)
    : context_(context), reshards_after_forward_(reshards_after_forward) {
  params_.reserve(params.size());
  for (const Tensor& param : params) {
    params_.emplace_back(param, place, context.precision, context.offload_to_cpu);
  }
  for (FsdpParam& param : params_) {
    param.drop_original();
  }
}

void FsdpParamGroup::unshard() {
  if (all_gather_result_.defined() || is_unsharded_) {
    return;
  }
  all_gather_result_ =
      foreach_all_gather(params_, context_.groups, context_.streams.all_gather_copy_in);
}

// In forward the gathered block stays until the next group has copied out, so that its own
// all-gather may run meanwhile. (A local variable of the frame holds it until the end.)
void FsdpParamGroup::wait_for_unshard() {
  if (!all_gather_result_.defined()) {
    return;
  }
  Tensor previous;
  if (phase_ == FsdpPhase::forward) {
    previous = std::exchange(context_.all_gather_state, {});
  }
  if (context_.groups.shard.runtime().torch >= kReleasesBeforeCopyOut) {
    previous.reset();
  }
  foreach_all_gather_copy_out(all_gather_result_, params_);
  is_unsharded_ = true;
  if (phase_ == FsdpPhase::forward) {
    context_.all_gather_state = all_gather_result_;
  }
  all_gather_result_.reset();
}

void FsdpParamGroup::reshard() {
  const bool stays = phase_ == FsdpPhase::forward && !reshards_after_forward_;
  if (stays || !is_unsharded_) {
    return;
  }
  for (FsdpParam& param : params_) {
    param.free_unsharded();
  }
  is_unsharded_ = false;
}

void FsdpParamGroup::reshard_after_backward() {
  if (context_.reshards_after_backward) {
    reshard();
  }
}

void FsdpParamGroup::pre_forward() {
  phase_ = FsdpPhase::forward;
  unshard();
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
  unshard();
  wait_for_unshard();
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
    context_.post_forward_order[index - 1]->unshard();
  }
}

void FsdpParamGroup::post_backward() {
  phase_ = FsdpPhase::post_backward;
  for (FsdpParam& param : params_) {
    param.accumulate_unsharded_grad_if_needed();
  }
  if (context_.reduces_gradients) {
    reduce();
  } else {
    keep_unreduced();
  }
}

void FsdpParamGroup::keep_unreduced() {
  reshard_after_backward();
  for (FsdpParam& param : params_) {
    param.to_accumulated_grad_if_needed();
  }
}

void FsdpParamGroup::reduce() {
  std::vector<FsdpParam*> with_grad;
  std::vector<Tensor> grads;
  for (FsdpParam& param : params_) {
    if (Tensor grad = param.take_unsharded_grad(); grad.defined()) {
      with_grad.push_back(&param);
      grads.push_back(std::move(grad));
    }
  }
  reshard_after_backward();
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
