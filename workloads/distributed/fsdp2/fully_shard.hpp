// A model whose blocks and root were given to torch.distributed.fsdp.fully_shard (FSDP2).
//
// Mirrors FSDPState and fully_shard of PyTorch 2.6 (torch/distributed/fsdp/_fully_shard/
// _fsdp_state.py, _fully_shard.py) as scripts apply it: each block of the model's longest list of
// modules, then the model itself, which keeps its parameters between forward and backward; or with
// units at both ends of the model (FsdpUnits), of which the last holds several modules. Over
// several replicas it is HSDP: a mesh of two dimensions, sharded along the second one.
#pragma once

#include <memory>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "workloads/distributed/fsdp2/fsdp_param_group.hpp"
#include "workloads/distributed/fsdp2/full_state_dict.hpp"
#include "workloads/distributed/tensor_parallel/dtensor.hpp"
#include "workloads/nn/sharded_unit.hpp"
#include "workloads/strategy/wrapper.hpp"

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
            bool reshards_after_forward)
      : shared_(shared), group_(shared.context, params, place, reshards_after_forward) {}

  void unshard() override {
    lazy_init();
    group_.gather();
  }

  void reshard() override { group_.reshard(); }

  void set_resharding(bool reshards) override { group_.set_resharding(reshards); }

  void set_unit_sync(bool syncs) override { group_.set_gradient_sync(syncs); }

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

  Shared& shared_;
  FsdpParamGroup group_;
  FsdpPhase phase_ = FsdpPhase::idle;
};

class FullyShard : public Wrapper {
 public:
  /// `model` must outlive the wrapper. Its parameters are this rank's shards afterwards. A model on
  /// the host is moved unit by unit; one on meta gets its blocks after it was sharded, by to_empty
  /// or as accelerate loads it. `is_first`: of the process's models.
  FullyShard(models::LanguageModel& model, const Parallelism& plan, bool is_first = true);

  models::Outputs forward(models::Inputs inputs) override;

  [[nodiscard]] std::vector<eager::Tensor> parameters() const override;

  /// Norms of shards are summed over the ranks before they are used.
  void clip(const std::vector<eager::Tensor>& parameters) override;

  /// DTensor's found_inf_reduce_handler: the largest of all ranks, by a functional all-reduce.
  void share_found_inf(const eager::Tensor& found_inf) override;

  [[nodiscard]] const optim::Resharding* resharding() const override { return &resharding_; }

  /// set_requires_gradient_sync().
  void set_gradient_sync(bool syncs) override { shared_.context.reduces_gradients = syncs; }

  /// Nothing is reduced or freed in `backward`; after the last one, all groups are processed
  /// explicitly.
  void stage_backward(int chunk, bool is_last, const std::function<void()>& backward) override;

 private:
  void shard_ends(ShardPlace place, Reshard reshard);
  void shard(const std::vector<nn::Module*>& modules, ShardPlace place,
             bool reshards_after_forward);
  void keep_whole_ends(const std::vector<eager::Tensor>& params);
  void sort_states();
  void to_empty(nn::Module& module);
  void load_full_state_dict(ShardPlace place);
  void load(nn::Module& module, FullStateDict& loaded);

  models::LanguageModel& model_;
  FsdpState::Shared shared_;
  GroupResharding resharding_;
  std::unordered_set<const void*> managed_;  ///< parameters and buffers that have a group
  std::vector<eager::Tensor> whole_ends_;  ///< of the embedding and the head, while units are made
  std::unordered_map<const eager::TensorImpl*, FsdpParam*> param_of_;
  std::unordered_map<const nn::Module*, FsdpState*> state_of_;
};

}  // namespace highwater::dist
