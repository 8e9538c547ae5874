// What fully_shard leaves on the modules of one unit: hooks that gather its parameters around their
// forward and backward.
//
// Mirrors FSDPState of PyTorch 2.6 (torch/distributed/fsdp/_fully_shard/_fsdp_state.py).
#pragma once

#include <memory>
#include <span>
#include <unordered_set>
#include <vector>

#include "workloads/distributed/fsdp2/fsdp_param_group.hpp"
#include "workloads/nn/backward_pass.hpp"
#include "workloads/nn/module.hpp"
#include "workloads/nn/sharded_unit.hpp"

namespace highwater::dist {

/// One module that fully_shard was applied to.
class FsdpState : public nn::ShardedUnit {
 public:
  /// What all states of a model share.
  struct Shared {
    FsdpContext context;
    std::vector<std::unique_ptr<FsdpState>> states;  ///< in the order of named_modules()
    FsdpState* iteration_root = nullptr;
    bool is_callback_queued = false;
    bool is_initialized = false;
    bool keeps_root = true;  ///< its parameters stay gathered after forward
  };

  /// `shared` outlives the state. The root is the one that is called first.
  FsdpState(Shared& shared, std::span<const eager::Tensor> params, ShardPlace place,
            AfterUse after_forward)
      : shared_(shared), group_(shared.context, params, place, after_forward) {}

  void unshard() override {
    lazy_init();
    group_.gather();
  }

  void reshard() override { group_.reshard(); }

  eager::Tensor full_tensor(const eager::Tensor& parameter) override;

  void set_resharding(AfterUse use) override { group_.set_resharding(use); }

  void set_unit_sync(GradientSync sync) override { group_.set_gradient_sync(sync); }

  /// May replace `arguments`.
  void pre_forward(std::span<eager::Tensor> arguments);
  void post_forward(std::span<eager::Tensor> results);

  [[nodiscard]] FsdpParamGroup& group() { return group_; }

  /// Modules that this call of the unit still has to run; the unit's forward ends with the last.
  std::unordered_set<const nn::Module*> modules_to_run;

  /// A unit of which only some modules ran: the root ends its forward.
  void complete(std::span<eager::Tensor> results);

  /// Whether fully_shard found parameters that belong to no child: a stage's root may have none.
  [[nodiscard]] bool has_group() { return !group_.params().empty(); }

 private:
  void root_pre_forward();
  void lazy_init();
  void cast_forward_inputs(std::span<eager::Tensor> arguments) const;
  void register_post_backward_hook(std::span<eager::Tensor> arguments);
  void register_pre_backward_hook(std::span<eager::Tensor> results);
  void complete_others(std::span<eager::Tensor> results);
  void pre_backward();
  void root_post_backward_final_callback();
  void finalize_all();

  Shared& shared_;
  FsdpParamGroup group_;
  FsdpPhase phase_ = FsdpPhase::idle;
  std::vector<eager::Ref<eager::Node>> hooked_leaves_;  ///< accumulators of results without a graph
};

/// Forward hooks of a unit other than the root, which its wrapper calls itself. Of several modules,
/// the first that runs begins the unit's forward, and the last ends it.
void hook_into(FsdpState& state, const std::vector<nn::Module*>& modules);

}  // namespace highwater::dist
