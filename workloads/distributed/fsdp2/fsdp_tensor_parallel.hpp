// FSDP2 over a model whose modules are tensor-parallel: fully_shard after parallelize_module, on a
// mesh of two dimensions (dp, tp).
//
// fully_shard cuts each rank's local tensors once more; gradients are converted to the layout of
// tensor parallelism before they are reduced (fsdp_param.cpp). Norms for clipping are summed over
// both dimensions; those of parameters that tensor parallelism replicates are divided for that.
#pragma once

#include <deque>

#include "workloads/distributed/fsdp2/fully_shard.hpp"
#include "workloads/distributed/tensor_parallel/tensor_parallel.hpp"
#include "workloads/nn/backward_pass.hpp"
#include "workloads/plan/parallel_kinds.hpp"

namespace highwater {
struct TrainingPlan;
}

namespace highwater::dist {

class FsdpTensorParallel : public Wrapper {
 public:
  /// `model` and `plan` must outlive the wrapper. `order`: among the process's models.
  FsdpTensorParallel(models::LanguageModel& model, const TrainingPlan& plan,
                     ModelOrder order = ModelOrder::first);

  models::Outputs forward(models::Inputs inputs) override {
    return fully_shard_.forward(std::move(inputs));
  }

  [[nodiscard]] std::vector<eager::Tensor> parameters() const override {
    return fully_shard_.parameters();
  }

  [[nodiscard]] const optim::Resharding* resharding() const override {
    return fully_shard_.resharding();
  }

  void clip(const std::vector<eager::Tensor>& parameters) override;

  void set_gradient_sync(GradientSync sync) override { fully_shard_.set_gradient_sync(sync); }

  void stage_backward(int chunk, BackwardPass pass,
                      const std::function<void()>& backward) override {
    fully_shard_.stage_backward(chunk, pass, backward);
  }

 private:
  models::LanguageModel& model_;
  TensorParallel tensor_parallel_;
  FullyShard fully_shard_;
  std::deque<eager::DTensorSpec> specs_;  ///< of shards
};

}  // namespace highwater::dist
