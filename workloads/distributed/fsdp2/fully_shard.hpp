// A model whose blocks and root were given to torch.distributed.fsdp.fully_shard (FSDP2).
//
// Mirrors fully_shard of PyTorch 2.6 (torch/distributed/fsdp/_fully_shard/_fully_shard.py) as
// scripts apply it: each block of the model's longest list of modules, then the model itself, which
// keeps its parameters between forward and backward; or with units at both ends of the model
// (FsdpUnits), of which the last holds several modules. Over several replicas it is HSDP: a mesh of
// two dimensions, sharded along the second one.
#pragma once

#include <memory>
#include <optional>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "workloads/distributed/fsdp2/accelerate_references.hpp"
#include "workloads/distributed/fsdp2/fsdp_state.hpp"
#include "workloads/distributed/fsdp2/full_state_dict.hpp"
#include "workloads/distributed/tensor_parallel/dtensor.hpp"
#include "workloads/nn/backward_pass.hpp"
#include "workloads/nn/packed_weights.hpp"
#include "workloads/plan/fsdp_options.hpp"
#include "workloads/strategy/wrapper.hpp"

namespace highwater {
struct Parallelism;
}

namespace highwater::dist {

class FullyShard : public Wrapper {
 public:
  /// `model` must outlive the wrapper. Its parameters are this rank's shards afterwards. A model on
  /// the host is moved unit by unit; one on meta gets its blocks after it was sharded, by to_empty
  /// or as accelerate loads it. `order`: among the process's models.
  FullyShard(models::LanguageModel& model, const Parallelism& plan,
             ModelOrder order = ModelOrder::first);

  models::Outputs forward(models::Inputs inputs) override;

  [[nodiscard]] std::vector<eager::Tensor> parameters() const override;

  /// Norms of shards are summed over the ranks before they are used.
  void clip(const std::vector<eager::Tensor>& parameters) override;

  /// DTensor's found_inf_reduce_handler: the largest of all ranks, by a functional all-reduce.
  void share_found_inf(const eager::Tensor& found_inf) override;

  [[nodiscard]] const optim::Resharding* resharding() const override { return &resharding_; }

  /// set_requires_gradient_sync().
  void set_gradient_sync(GradientSync sync) override {
    shared_.context.reduces_gradients = sync == GradientSync::on;
  }

  /// Nothing is reduced or freed in `backward`; after the last one, all groups are processed
  /// explicitly.
  void stage_backward(int chunk, BackwardPass pass, const std::function<void()>& backward) override;

 private:
  void shard_ends(ShardPlace place, Reshard reshard);
  void shard(const std::vector<nn::Module*>& modules, ShardPlace place, AfterUse after_forward);
  void upcast_trained();
  void ignore_integers();
  void bring_states_of(const std::vector<eager::Tensor>& params) const;
  void sort_states();
  void fill(ShardPlace place, ModelOrder order);
  void to_empty(nn::Module& module);
  void load_full_state_dict(ShardPlace place);
  void load(nn::Module& module, FullStateDict& loaded);
  [[nodiscard]] bool is_of_adapter(const eager::Tensor& parameter) const;
  void make_adapters(nn::Module& module);
  void load_own(nn::Module& module, FullStateDict& loaded);
  void load_quantized(nn::Linear& linear, FullStateDict& loaded);
  void cast_outputs(models::Outputs& outputs) const;

  models::LanguageModel& model_;
  FsdpState::Shared shared_;
  GroupResharding resharding_;
  nn::PackedWeights packed_;
  std::unordered_set<const void*> managed_;         ///< parameters and buffers that have a group
  std::optional<AccelerateReferences> references_;  ///< while accelerate makes units
  std::unordered_map<const eager::TensorImpl*, FsdpParam*> param_of_;
  std::unordered_map<const nn::Module*, FsdpState*> state_of_;
};

}  // namespace highwater::dist
