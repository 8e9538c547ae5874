// The parameters that one fully_shard call gathers and reduces together.
//
// Mirrors FSDPParamGroup and FSDPCommContext of PyTorch 2.6
// (torch/distributed/fsdp/_fully_shard/_fsdp_param_group.py): what is gathered when, which results
// are kept until the next group has copied out its own, and which group is prefetched in backward.
// Of 2.15: gradients that are not reduced yet accumulate in the type of the reduction, and what was
// gathered before is freed ahead of the copies out. Between the two only the root's resharding
// (2.8, FsdpState) and the release of reductions' inputs (2.12, 2.13) differ.
#pragma once

#include <span>
#include <vector>

#include "workloads/distributed/fsdp2/fsdp_collectives.hpp"
#include "workloads/nn/backward_pass.hpp"

namespace highwater::dist {

class FsdpParamGroup;

enum class FsdpPhase : std::uint8_t { idle, forward, pre_backward, post_backward };

/// What all groups of a model share.
struct FsdpContext {
  FsdpGroups groups;
  FsdpPrecision precision;
  FsdpStreams streams;
  eager::Tensor all_gather_state;      ///< of the last group in forward
  eager::Tensor reduce_scatter_state;  ///< input of the last reduction
  std::vector<FsdpParamGroup*> post_forward_order;
  bool offload_to_cpu = false;          ///< CPUOffloadPolicy(pin_memory=True)
  bool reduces_gradients = true;        ///< set_requires_gradient_sync()
  bool is_last_backward = true;         ///< set_is_last_backward()
  bool reshards_after_backward = true;  ///< set_reshard_after_backward()

  [[nodiscard]] bool is_recent() const { return is_recent_fsdp(groups.shard.runtime()); }

  /// All three, as a pipeline's stage sets them.
  void set_pass(BackwardPass pass) {
    reduces_gradients = is_last_backward = reshards_after_backward = pass == BackwardPass::last;
  }
};

class FsdpParamGroup {
 public:
  /// Shards `params`, the module's own in the order in which fully_shard collects them.
  FsdpParamGroup(FsdpContext& context, std::span<const eager::Tensor> params, ShardPlace place,
                 AfterUse after_forward);
  FsdpParamGroup(const FsdpParamGroup&) = delete;
  FsdpParamGroup& operator=(const FsdpParamGroup&) = delete;

  [[nodiscard]] std::vector<FsdpParam>& params() { return params_; }

  [[nodiscard]] bool is_unsharded() const { return is_unsharded_; }

  void pre_forward();
  void post_forward();
  void pre_backward();
  void post_backward();
  void finalize_backward();

  void set_idle() { phase_ = FsdpPhase::idle; }

  /// The root's parameters would be gathered again at once.
  void keep_after_forward() { after_forward_ = AfterUse::keep; }

  /// Another module of the unit ran in this forward before.
  [[nodiscard]] bool is_in_forward() const { return phase_ == FsdpPhase::forward; }

  /// FSDPModule.unshard() and reshard().
  void gather();
  void reshard();

  void set_resharding(AfterUse use) {
    after_forward_ = use;
    after_backward_ = use;
  }

  void set_gradient_sync(GradientSync sync) { syncs_ = sync == GradientSync::on; }

 private:
  void unshard(StreamId stream);
  void wait_for_unshard();
  void copy_own();
  void reshard_after_backward();
  void backward_prefetch();

  [[nodiscard]] bool reduces() const { return syncs_ && context_.reduces_gradients; }

  void keep_unreduced();
  void reduce();
  void wait_for_post_backward();

  FsdpContext& context_;
  std::vector<FsdpParam> params_;
  AfterUse after_forward_;
  AfterUse after_backward_ = AfterUse::reshard;
  bool syncs_ = true;
  bool is_unsharded_ = false;
  FsdpPhase phase_ = FsdpPhase::idle;
  eager::Tensor all_gather_result_;
  ReduceState all_reduce_state_;
  std::vector<std::size_t> post_forward_indices_;
};

}  // namespace highwater::dist
