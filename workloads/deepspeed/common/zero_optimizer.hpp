// What DeepSpeed's engine needs from a ZeRO optimizer of any stage.
#pragma once

#include <optional>

#include "workloads/eager/tensor.hpp"
#include "workloads/nn/backward_pass.hpp"
#include "workloads/plan/deepspeed_release.hpp"

namespace highwater::deepspeed {

/// "gradient_clipping" is 1.0 in 0.19.8 unless it is given, and 0 in 0.16.4.
inline bool clips_gradients(std::optional<double> grad_clip, const Versions& versions) {
  return grad_clip.has_value() || is_recent_deepspeed(versions);
}

class ZeroOptimizer {
 public:
  ZeroOptimizer() = default;
  ZeroOptimizer(const ZeroOptimizer&) = delete;
  ZeroOptimizer& operator=(const ZeroOptimizer&) = delete;
  virtual ~ZeroOptimizer() = default;

  /// A forward of the whole model begins.
  virtual void begin_forward() {}

  /// Scales the loss and runs autograd. A step follows the last one.
  virtual void backward(const eager::Tensor& loss, BackwardPass pass) = 0;

  /// allreduce_gradients: what the engine does after backward.
  virtual void reduce_gradients(BackwardPass pass) = 0;

  /// Norm, update, gathering; the gradients are freed afterwards.
  virtual void step() = 0;

  /// _global_grad_norm: of the last step, a scalar.
  [[nodiscard]] virtual const eager::Tensor& global_norm() const = 0;
};

}  // namespace highwater::deepspeed
