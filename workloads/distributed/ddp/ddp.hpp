// torch.nn.parallel.DistributedDataParallel around a model.
//
// Mirrors torch/nn/parallel/distributed.py of PyTorch 2.6 with device_ids of one GPU, buffers
// broadcast from rank 0 before each forward that follows a reduction. All parameters get gradients:
// looking for unused ones finds none.
#pragma once

#include <vector>

#include "workloads/distributed/ddp/reducer.hpp"
#include "workloads/distributed/process_group.hpp"
#include "workloads/nn/backward_pass.hpp"
#include "workloads/strategy/wrapper.hpp"

namespace highwater {
struct Parallelism;
}

namespace highwater::dist {

class DistributedDataParallel : public Wrapper {
 public:
  /// `model` must outlive the wrapper. Collectives go over `plan.dp` ranks.
  DistributedDataParallel(models::LanguageModel& model, const Parallelism& plan);

  models::Outputs forward(models::Inputs inputs) override;

  [[nodiscard]] std::vector<eager::Tensor> parameters() const override {
    return nn::trainable_parameters(model_);
  }

  void broadcast(std::span<const eager::Tensor> parameters) override;

  /// no_sync(): forward and backward without it reduce nothing.
  void set_gradient_sync(GradientSync sync) override {
    syncs_gradients_ = sync == GradientSync::on;
  }

  /// A stage's forwards are all within no_sync(); its last backward asks the reducer itself.
  void stage_backward(int chunk, BackwardPass pass, const std::function<void()>& backward) override;

 private:
  void before_forward();
  void after_forward(models::Outputs& outputs);
  void sink(models::Outputs& outputs);
  void delay_all_reduce_once();

  models::LanguageModel& model_;
  ProcessGroup group_;
  Reducer reducer_;
  bool static_graph_;
  bool find_unused_;
  bool delays_all_reduce_ = false;  ///< the static graph's first backward has begun
  bool syncs_gradients_ = true;     ///< require_backward_grad_sync
  bool syncs_buffers_ = true;       ///< require_forward_param_sync
};

}  // namespace highwater::dist
