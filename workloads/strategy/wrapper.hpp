// A model as a training script calls it: bare, or inside a wrapper such as DistributedDataParallel.
//
// A wrapper decides what its forward does around the model's and which tensors are its parameters
// (for FSDP: this rank's shards). What it does in backward is attached to the autograd graph.
#pragma once

#include <functional>
#include <span>
#include <vector>

#include "workloads/models/language_model.hpp"
#include "workloads/nn/backward_pass.hpp"
#include "workloads/optim/resharding.hpp"

namespace highwater {

class Wrapper {
 public:
  Wrapper() = default;
  Wrapper(const Wrapper&) = delete;
  Wrapper& operator=(const Wrapper&) = delete;
  virtual ~Wrapper() = default;

  virtual models::Outputs forward(models::Inputs inputs) = 0;

  /// Those that require gradients, in the order of parameters().
  [[nodiscard]] virtual std::vector<eager::Tensor> parameters() const = 0;

  /// The optimizer's groups: one with all parameters, or two with norms and biases in the second.
  [[nodiscard]] virtual std::vector<std::vector<eager::Tensor>> parameter_groups(int groups) const;

  /// What a script calls after the last backward of a step.
  virtual void finish_gradients() {}

  /// clip_grad_norm_ as a script with this wrapper calls it.
  virtual void clip_gradients() { clip(parameters()); }

  /// The same for `parameters`, which may belong to several models wrapped in the same way.
  virtual void clip(const std::vector<eager::Tensor>& parameters);

  /// Broadcasts parameters, each from the rank that has stepped it, and waits for all of them.
  virtual void broadcast(std::span<const eager::Tensor> /*parameters*/) {}

  /// GradScaler's kernel has checked only this rank's gradients, if they are sharded.
  virtual void share_found_inf(const eager::Tensor& /*found_inf*/) {}

  /// How the optimizer's operators see parameters that are sharded; null if they are whole.
  [[nodiscard]] virtual const optim::Resharding* resharding() const { return nullptr; }

  /// no_sync() and its like: whether backwards from now on reduce gradients over the ranks.
  virtual void set_gradient_sync(GradientSync /*sync*/) {}

  /// `backward` of a micro-batch in model chunk `chunk` of a pipeline, the step's last one if
  /// `is_last` (torch/distributed/pipelining/stage.py: backward_maybe_with_nosync).
  virtual void stage_backward(int /*chunk*/, BackwardPass /*pass*/,
                              const std::function<void()>& backward) {
    backward();
  }
};

/// No wrapper: one GPU, or parallelism that the model itself contains.
class BareModel : public Wrapper {
 public:
  explicit BareModel(models::LanguageModel& model) : model_(model) {}

  models::Outputs forward(models::Inputs inputs) override {
    return model_.forward(std::move(inputs));
  }

  [[nodiscard]] std::vector<eager::Tensor> parameters() const override {
    return nn::trainable_parameters(model_);
  }

 private:
  models::LanguageModel& model_;
};

}  // namespace highwater
