// torch.amp.GradScaler (torch/amp/grad_scaler.py, PyTorch 2.6) as the training loop drives it.
//
// Inf checks are answered with "none found", so no step is skipped.
#pragma once

#include <cstdint>
#include <functional>
#include <utility>

#include "workloads/eager/tensor.hpp"

namespace highwater {

class OptimizerRun;

class GradScaler {
 public:
  /// Called with what the kernel found in this rank's gradients if they are sharded.
  using ShareFoundInf = std::function<void(const eager::Tensor& found_inf)>;

  explicit GradScaler(eager::Runtime& runtime, ShareFoundInf share_found_inf = {})
      : runtime_(runtime), share_found_inf_(std::move(share_found_inf)) {}

  /// scaler.scale(loss); the first call creates the scale and the growth tracker.
  eager::Tensor scale(const eager::Tensor& loss);

  /// scaler.unscale_(optimizer), before clipping.
  void unscale();

  /// scaler.step(optimizer)
  void step(OptimizerRun& optimizer);

  /// The same of an optimizer whose kernel is not asked to unscale.
  void step_unscaled(OptimizerRun& optimizer);

  /// scaler.update()
  void update();

 private:
  enum class Stage : std::uint8_t { ready, unscaled };

  void check_inf();
  void find_inf(const eager::Tensor& inv_scale, const eager::Tensor& found_inf);
  void step_in_kernel(OptimizerRun& optimizer);
  eager::Tensor scalar(const char* op, DType dtype);

  eager::Runtime& runtime_;
  ShareFoundInf share_found_inf_;
  eager::Tensor scale_;
  eager::Tensor growth_tracker_;
  eager::Tensor found_inf_;  ///< of the step under way: found_inf_per_device
  Stage stage_ = Stage::ready;
};

}  // namespace highwater
