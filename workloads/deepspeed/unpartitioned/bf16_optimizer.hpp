// Stage 0 in bf16 before 0.19: gradients are added up in fp32 for the whole model, while each rank
// updates a part of it.
//
// Source: DeepSpeed 0.16.4, runtime/bf16_optimizer.py (BF16_Optimizer) and runtime/utils.py
// (get_global_norm_of_tensors, clip_tensors_by_global_norm). The bf16 gradients of a backward stay
// until the next one begins.
#pragma once

#include "workloads/deepspeed/unpartitioned/whole_optimizer.hpp"
#include "workloads/nn/backward_pass.hpp"

namespace highwater {
struct TrainingPlan;
}

namespace highwater::deepspeed {

class Bf16Optimizer : public WholeOptimizer {
 public:
  Bf16Optimizer(dist::ProcessGroup& group, const TrainingPlan& plan,
                std::vector<eager::Tensor> trainable, ParameterGroups groups);

  void backward(const eager::Tensor& loss, BackwardPass pass) override;
  void step() override;

 protected:
  [[nodiscard]] std::vector<eager::Tensor> gradients_to_reduce() const override {
    return gradients_;
  }

 private:
  void add_group(const std::vector<eager::Tensor>& group);
  eager::Tensor norm_of_gradients();
  void clip();
  void gather_parameters();

  std::vector<eager::Tensor> flats_;      ///< bf16_groups_flat
  std::vector<eager::Tensor> masters_;    ///< fp32_groups_flat_partition
  std::vector<eager::Tensor> gradients_;  ///< fp32_groups_gradients_flat
  std::vector<eager::Tensor> norms_;      ///< norm_tensors_compute_buffer: kept
};

}  // namespace highwater::deepspeed
