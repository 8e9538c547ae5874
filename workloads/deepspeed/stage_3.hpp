// ZeRO stage 3: every parameter partitioned over the ranks, gathered module by module.
//
// Source: DeepSpeed 0.16.4, runtime/zero/stage3.py (DeepSpeedZeroOptimizer_Stage3) and
// parameter_offload.py (DeepSpeedZeRoOffload). The partitions of all parameters lie in one buffer;
// fp32 copies and optimizer states are made and updated in sub-groups of parameters, with
// offload_optimizer on the host. With offload_param the partitions are on the host, in one pinned
// buffer for each parameter group.
#pragma once

#include <map>
#include <memory>
#include <optional>

#include "workloads/deepspeed/common/zero_optimizer.hpp"
#include "workloads/deepspeed/module_hooks.hpp"
#include "workloads/deepspeed/parameter_coordinator.hpp"
#include "workloads/deepspeed/partitioned_gradients.hpp"
#include "workloads/deepspeed/sub_groups.hpp"
#include "workloads/deepspeed/zero_init.hpp"
#include "workloads/models/language_model.hpp"
#include "workloads/nn/backward_pass.hpp"
#include "workloads/optim/optimizer.hpp"

namespace highwater::deepspeed {

class Stage3 : public ZeroOptimizer {
 public:
  /// `made` are those that deepspeed.zero.Init() has already partitioned, or none.
  Stage3(dist::ProcessGroup& group, nn::Module& model, const TrainingPlan& plan,
         const std::vector<std::vector<eager::Tensor>>& groups, PartitionedParameters made);
  ~Stage3() override;

  void begin_forward() override { coordinator_.begin_forward(); }

  void backward(const eager::Tensor& loss, BackwardPass pass) override;
  void reduce_gradients(BackwardPass pass) override;
  void step() override;

  [[nodiscard]] const eager::Tensor& global_norm() const override { return global_norm_; }

 private:
  /// Where fp32 copies, gradients and states are (self.device).
  [[nodiscard]] eager::Place device() const {
    return offloads_ ? eager::Place::host : eager::Place::cuda;
  }

  void split_parameters();
  void remember_parameters();
  void mark_persistent();
  void hang_hooks();
  [[nodiscard]] std::vector<ParameterGroup> partitioned(
      const std::vector<std::vector<eager::Tensor>>& groups) const;
  void flatten_partitions();
  [[nodiscard]] eager::Tensor made_master(const SubGroup& sub_group) const;
  void make_masters();
  void make_backup_optimizer();
  void place_sub_groups();
  void count_nvme_buffers();
  void initialize_states();
  void hook_into_backward();
  [[nodiscard]] ParameterGroup parameters_of(const nn::Module& module) const;
  void offload_states();
  void check_overflow();
  void check_overflow_of_host();
  void reduce_norm_of_host(const SubGroup& group);
  void offloaded_step();
  void update_offloaded();
  eager::Tensor norm_of(const SubGroup& group);
  eager::Tensor norm_of(const optim::TensorVector& groups);
  void update(std::size_t index, const eager::Tensor& norm);
  void write_back(const SubGroup& sub_group);
  void gather_persistent();
  void drop_second_copies();
  void gather_one(PartitionedParameter& parameter);
  void gather_external(const nn::Module& reader, const eager::Tensor& read);

  dist::ProcessGroup& group_;
  dist::ProcessGroup world_;  ///< of collectives that name no group
  eager::Runtime& runtime_;
  nn::Module& model_;
  const TrainingPlan& plan_;
  Zero zero_;
  DType dtype_;
  PartitionedParameters parameters_;
  bool offloads_;         ///< offload_optimizer
  bool offloads_params_;  ///< offload_param
  int micro_step_ = 0;
  std::map<const eager::TensorImpl*, PartitionedParameter*> by_tensor_;
  std::map<const nn::Module*, ParameterGroup> by_module_;
  ParameterGroup persistent_;
  dist::ProcessGroup second_copies_;  ///< _get_zero_param_intra_parallel_group
  ParameterCoordinator coordinator_;
  ModuleHooks::Returned returned_;
  eager::Tensor inf_or_nan_tracker_;
  std::vector<SubGroup> sub_groups_;
  eager::Tensor partitions_;  ///< lp_param_buffer
  std::optional<PartitionedGradients> gradients_;
  std::optional<OptimizerRun> optimizer_;
  eager::Tensor backup_param_;  ///< that backup_optimizer is made with
  /// backup_optimizer: it updates the sub-groups that "ratio" leaves on the GPU, one by one.
  std::map<std::size_t, std::unique_ptr<OptimizerRun>> backup_;
  eager::Tensor scaled_loss_;  ///< of the engine's frame
  eager::Tensor global_norm_;
  std::vector<eager::Ref<eager::Node>> hooked_;
};

}  // namespace highwater::deepspeed
