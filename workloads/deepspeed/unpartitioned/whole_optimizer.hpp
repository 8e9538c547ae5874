// Stage 0: DeepSpeed's engine without ZeRO. Every rank keeps the whole model; the engine sums the
// gradients after the last micro-batch of a step, in buckets that are copies.
//
// Source: DeepSpeed 0.16.4 and 0.19.8, runtime/engine.py (buffered_allreduce_fallback,
// allreduce_no_retain, _do_optimizer_sanity_check, _configure_fp16_optimizer, clip_fp32_gradients,
// _take_model_step). What updates the parameters depends on their type and on the optimizer:
//
//   fp32        the script's optimizer itself
//   16 bits     DeepSpeed's FusedAdam: one flat copy of them all in fp32 (flat_optimizer.hpp);
//               any other: a copy of each (unfused_optimizer.hpp)
//   bf16, 0.16  gradients are added up in fp32, and each rank updates a part (bf16_optimizer.hpp)
#pragma once

#include <memory>
#include <vector>

#include "workloads/deepspeed/common/zero_optimizer.hpp"
#include "workloads/distributed/process_group.hpp"
#include "workloads/nn/backward_pass.hpp"
#include "workloads/optim/optimizer.hpp"
#include "workloads/optim/tensor_vector.hpp"

namespace highwater {
struct TrainingPlan;
}

namespace highwater::deepspeed {

using ParameterGroups = std::vector<std::vector<eager::Tensor>>;

/// torch.tensor([x], device="cuda"): what the host found, for model-parallel ranks to reduce.
eager::Tensor number_on_gpu(eager::Runtime& runtime, DType dtype);

/// What the optimizers of stage 0 share.
class WholeOptimizer : public ZeroOptimizer {
 public:
  /// `trainable` are the model's parameters in its order, `groups` the same as the optimizer has
  /// them.
  WholeOptimizer(dist::ProcessGroup& group, const TrainingPlan& plan,
                 std::vector<eager::Tensor> trainable, ParameterGroups groups);

  void backward(const eager::Tensor& loss, BackwardPass pass) override;
  void reduce_gradients(BackwardPass pass) override;

  [[nodiscard]] const eager::Tensor& global_norm() const override { return global_norm_; }

 protected:
  void make_optimizer(const ParameterGroups& updated);

  /// Zeros as gradients of `updated`, in whose first step the states are created.
  void initialize_states(const ParameterGroups& updated);

  /// What the ranks sum.
  [[nodiscard]] virtual std::vector<eager::Tensor> gradients_to_reduce() const;

  [[nodiscard]] bool is_recent() const;

  void drop_gradients();

  /// CheckOverflow.has_overflow: every gradient is searched, and the answer takes a byte.
  void search_overflow();

  dist::ProcessGroup& group_;
  eager::Runtime& runtime_;
  const TrainingPlan& plan_;
  std::vector<eager::Tensor> trainable_;
  ParameterGroups groups_;
  std::unique_ptr<OptimizerRun> optimizer_;
  eager::Tensor global_norm_;

 private:
  void reduce_bucket(const std::vector<eager::Tensor>& bucket);
};

/// The script's optimizer, unwrapped.
class PlainOptimizer : public WholeOptimizer {
 public:
  PlainOptimizer(dist::ProcessGroup& group, const TrainingPlan& plan,
                 std::vector<eager::Tensor> trainable, ParameterGroups groups);

  void step() override;

 private:
  void clip();
};

/// The optimizer that the engine puts around the plan's.
std::unique_ptr<ZeroOptimizer> make_whole_optimizer(dist::ProcessGroup& group,
                                                    const TrainingPlan& plan,
                                                    const std::vector<eager::Tensor>& trainable,
                                                    const ParameterGroups& groups);

}  // namespace highwater::deepspeed
