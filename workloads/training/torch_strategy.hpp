// Training with torch.optim: the model, bare or wrapped, an optimizer over its parameters and,
// under fp16 autocast, a GradScaler.
#pragma once

#include <memory>
#include <optional>

#include "workloads/distributed/ddp/zero_redundancy.hpp"
#include "workloads/nn/backward_pass.hpp"
#include "workloads/optim/grad_scaler.hpp"
#include "workloads/optim/optimizer.hpp"
#include "workloads/strategy/strategy.hpp"
#include "workloads/strategy/wrapper.hpp"

namespace highwater {

struct TrainingPlan;

class TorchStrategy : public Strategy {
 public:
  /// `plan` must outlive the strategy.
  TorchStrategy(eager::Runtime& runtime, const TrainingPlan& plan,
                std::unique_ptr<Wrapper> wrapper);

  models::Outputs forward(models::Inputs inputs) override {
    return wrapper_->forward(std::move(inputs));
  }

  void backward(const eager::Tensor& loss) override;
  void backward_chunk(int chunk, BackwardPass pass, const eager::Tensor& output,
                      const eager::Tensor& gradient) override;

  void finish_gradients() override { wrapper_->finish_gradients(); }

  void clip_gradients() override;
  void step() override;
  void zero_grad() override;

  void set_gradient_sync(GradientSync sync) override { wrapper_->set_gradient_sync(sync); }

 private:
  void step_scaled();

  eager::Runtime& runtime_;
  const TrainingPlan& plan_;
  std::unique_ptr<Wrapper> wrapper_;
  std::optional<dist::ZeroRedundancy> redundancy_;
  OptimizerRun optimizer_;
  std::optional<GradScaler> scaler_;
};

}  // namespace highwater
