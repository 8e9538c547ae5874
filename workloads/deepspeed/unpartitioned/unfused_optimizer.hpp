// Stage 0 in 16 bits with any optimizer but DeepSpeed's FusedAdam: a copy of each parameter in
// fp32, beside the script's optimizer.
//
// Source: DeepSpeed 0.16.4 (fp16) and 0.19.8 (fp16 and bf16), runtime/fp16/unfused_optimizer.py
// (FP16_UnfusedOptimizer) and runtime/utils.py (get_weight_norm). The model's gradients stay until
// the step is through.
#pragma once

#include "workloads/deepspeed/unpartitioned/whole_optimizer.hpp"

namespace highwater {
struct TrainingPlan;
}

namespace highwater::deepspeed {

class UnfusedOptimizer : public WholeOptimizer {
 public:
  UnfusedOptimizer(dist::ProcessGroup& group, const TrainingPlan& plan,
                   std::vector<eager::Tensor> trainable, ParameterGroups groups);

  void step() override;

 private:
  void make_masters();
  void make_states();
  void ask_for_norm(const std::vector<eager::Tensor>& group);
  void widen_gradients(std::size_t group);
  void drop_wide_gradients();

  ParameterGroups masters_;  ///< fp32_groups
};

}  // namespace highwater::deepspeed
