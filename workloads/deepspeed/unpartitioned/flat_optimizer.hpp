// Stage 0 in 16 bits with DeepSpeed's FusedAdam: the parameters of a group lie in one buffer, and
// so do their copies in fp32.
//
// Source: DeepSpeed 0.16.4 (fp16) and 0.19.8 (fp16 and bf16), runtime/fp16/fused_optimizer.py
// (FP16_Optimizer) and runtime/utils.py (get_flattened_grad_norm). The step copies every gradient
// to fp32 and then all of them to one buffer, 8 bytes for each parameter at that moment.
#pragma once

#include "workloads/deepspeed/unpartitioned/whole_optimizer.hpp"

namespace highwater {
struct TrainingPlan;
}

namespace highwater::deepspeed {

class FlatOptimizer : public WholeOptimizer {
 public:
  FlatOptimizer(dist::ProcessGroup& group, const TrainingPlan& plan,
                std::vector<eager::Tensor> trainable, ParameterGroups groups);

  void step() override;

 private:
  void flatten(const std::vector<eager::Tensor>& group);
  eager::Tensor take_gradients(const std::vector<eager::Tensor>& group);
  void ask_for_norm();

  std::vector<eager::Tensor> masters_;  ///< fp32_groups_flat
};

}  // namespace highwater::deepspeed
