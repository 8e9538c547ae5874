// ZeRO stages 1 and 2: 16-bit parameters in one flat buffer per group, fp32 copies and optimizer
// states of this rank's part of it.
//
// Source: DeepSpeed 0.16.4 and 0.19.8, runtime/zero/stage_1_and_2.py (DeepSpeedZeroOptimizer).
// Stage 2 reduces gradients while backward runs and keeps only those of its partition; stage 1 does
// the same at the end of the last backward of a step, when all gradients are available. 0.19.8
// makes the buckets when the first gradient arrives (setup_buckets), flattens on the GPU if it has
// room, and looks for overflows in bf16, too. Releases between the two were not read.
#pragma once

#include <memory>
#include <optional>

#include "workloads/deepspeed/common/zero_optimizer.hpp"
#include "workloads/deepspeed/gradient_buckets.hpp"
#include "workloads/deepspeed/gradient_offload.hpp"
#include "workloads/nn/backward_pass.hpp"
#include "workloads/optim/optimizer.hpp"

namespace highwater {
struct TrainingPlan;
}

namespace highwater::deepspeed {

class Stage1And2 : public ZeroOptimizer {
 public:
  /// `groups` are the optimizer's parameter groups, trainable parameters only.
  Stage1And2(dist::ProcessGroup& group, const TrainingPlan& plan,
             const std::vector<std::vector<eager::Tensor>>& groups);
  ~Stage1And2() override;

  void backward(const eager::Tensor& loss, BackwardPass pass) override;
  void reduce_gradients(BackwardPass pass) override;
  void step() override;

  [[nodiscard]] const eager::Tensor& global_norm() const override { return global_norm_; }

 private:
  struct Group {
    std::vector<eager::Tensor> parameters;     ///< bit16_groups
    std::vector<std::size_t> flat_order;       ///< places in the flat buffer, first to last
    std::unique_ptr<FlatPartition> partition;  ///< of parameters in that order
    eager::Tensor flat;                        ///< bit16_groups_flat
    eager::Tensor master;                      ///< single_partition_of_fp32_groups
    optim::TensorVector averaged;              ///< averaged_gradients
  };

  [[nodiscard]] bool is_recent() const { return release_ == DeepspeedRelease::v0_19; }

  void add_group(const std::vector<eager::Tensor>& parameters);
  void flatten(Group& group);
  [[nodiscard]] bool has_room_for(const Group& group) const;
  void flatten_on_gpu(Group& group);
  void flatten_on_host(Group& group);
  void make_master(Group& group);
  void copy_part_to_host(const Group& group) const;
  void place_parameters();
  void initialize_states();
  void hook_into_backward();
  void on_gradient(std::size_t index);
  void reduce_all();
  void finish_backward();
  optim::TensorVector own_gradients(const Group& group) const;
  void make_offload();
  void count_host_memory();
  void offloaded_step();
  void gather_parameters();
  void check_overflow();
  eager::Tensor norm_of_gradients();
  void update(Group& group, const eager::Tensor& norm);

  dist::ProcessGroup& group_;
  eager::Runtime& runtime_;
  const TrainingPlan& plan_;
  int rank_;
  DType dtype_;
  DeepspeedRelease release_;
  bool partitions_gradients_;
  bool overlaps_;
  std::vector<Group> groups_;
  GradientBuckets buckets_;
  std::vector<eager::Tensor> parameters_;  ///< of all groups
  std::optional<GradientOffload> offload_;
  std::optional<OptimizerRun> optimizer_;
  eager::Tensor scaled_loss_;  ///< of the engine's frame
  eager::Tensor global_norm_;  ///< _global_grad_norm
  BackwardPass pass_ = BackwardPass::last;
  std::vector<eager::Ref<eager::Node>> hooked_;  ///< AccumulateGrad nodes
};

}  // namespace highwater::deepspeed
