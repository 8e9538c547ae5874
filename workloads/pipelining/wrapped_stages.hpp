// The stages of a rank, each in its own wrapper: DDP, fully_shard or DTensors.
//
// Follows torchtitan of January 2025 (train.py): parallelize_llama and to_empty for each of
// model_parts; the optimizer and clipping see the parameters of all.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "workloads/nn/backward_pass.hpp"
#include "workloads/strategy/wrapper.hpp"

namespace highwater::pipelining {

class WrappedStages : public Wrapper {
 public:
  /// Moves a part to the device, if necessary, and wraps it. The first wrapper of the process does
  /// some things for all.
  using Wrap =
      std::function<std::unique_ptr<Wrapper>(models::LanguageModel& part, ModelOrder order)>;

  /// `model`, of one part or several, must outlive the wrapper.
  WrappedStages(models::LanguageModel& model, const Wrap& wrap);

  models::Outputs forward(models::Inputs inputs) override;

  [[nodiscard]] std::vector<eager::Tensor> parameters() const override;

  [[nodiscard]] std::vector<std::vector<eager::Tensor>> parameter_groups(int groups) const override;

  void clip(const std::vector<eager::Tensor>& parameters) override {
    stages_.front()->clip(parameters);
  }

  [[nodiscard]] const optim::Resharding* resharding() const override { return resharding_.get(); }

  void set_gradient_sync(GradientSync sync) override;

  void stage_backward(int chunk, BackwardPass pass, const std::function<void()>& backward) override;

 private:
  std::vector<std::unique_ptr<Wrapper>> stages_;  ///< by model chunk
  std::unique_ptr<optim::Resharding> resharding_;
};

}  // namespace highwater::pipelining
