// What a training script calls instead of the bare model, optimizer and loss: one class per way of
// training on several GPUs.
//
// The script's own order (generate.cpp) is the same for all of them: forward, backward, clipping,
// step, zero_grad. A strategy defines what each of these calls does to this rank's memory. Training
// with torch.optim is TorchStrategy around a Wrapper (DDP, FSDP); engines that bring an optimizer
// of their own (DeepSpeed, Megatron-Core) are strategies themselves.
#pragma once

#include <memory>
#include <optional>

#include "workloads/models/language_model.hpp"
#include "workloads/nn/backward_pass.hpp"
#include "workloads/strategy/bucket_use.hpp"

namespace highwater {

struct TrainingPlan;

class Strategy {
 public:
  Strategy() = default;
  Strategy(const Strategy&) = delete;
  Strategy& operator=(const Strategy&) = delete;
  virtual ~Strategy() = default;

  virtual models::Outputs forward(models::Inputs inputs) = 0;

  /// `loss` is already divided by the number of micro-batches where the script does so.
  virtual void backward(const eager::Tensor& loss) = 0;

  /// Backward of a pipeline stage: starts from its output with the received gradient; without one,
  /// the output is the loss.
  virtual void backward_stage(const eager::Tensor& output, const eager::Tensor& gradient) {
    if (gradient.defined()) {
      eager::backward(output, gradient);
    } else {
      backward(output);
    }
  }

  /// The same for a micro-batch in model chunk `chunk`, for wrappers that need to know the chunk
  /// and whether the micro-batch is its last one of the step (`is_last`).
  virtual void backward_chunk(int /*chunk*/, BackwardPass /*pass*/, const eager::Tensor& output,
                              const eager::Tensor& gradient) {
    backward_stage(output, gradient);
  }

  /// A backward pass before the step's last one was not carried out, since its requests are known.
  virtual void pass_backward() {}

  /// What a script does to the gradients after the last backward of a step.
  virtual void finish_gradients() {}

  virtual void clip_gradients() = 0;
  virtual void step() = 0;
  virtual void zero_grad() = 0;

  /// Whether the engine divides the loss by the number of micro-batches; otherwise the script does.
  [[nodiscard]] virtual bool divides_loss() const { return false; }

  /// no_sync() and its like: whether backwards from now on reduce gradients over the ranks.
  virtual void set_gradient_sync(GradientSync /*sync*/) {}

  /// How full the buckets are, of an optimizer that has buckets of a fixed size.
  [[nodiscard]] virtual std::optional<BucketUse> bucket_use() const { return std::nullopt; }
};

/// Whether the strategy accepts a model that is still on meta and moves its shards to the device.
bool brings_model_to_device(const TrainingPlan& plan);

/// The strategy that `plan` requests, around a model that is on the device or is moved there. Both
/// must outlive it.
std::unique_ptr<Strategy> make_strategy(models::LanguageModel& model, const TrainingPlan& plan);

}  // namespace highwater
