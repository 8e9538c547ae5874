// Hugging Face Accelerate's `accelerate estimate-memory`.
#pragma once

#include <optional>

#include "workloads/estimates/terms/formula.hpp"

namespace highwater {

/// The command's --dtypes.
enum class AccelerateDtype : std::uint8_t { float32, float16, bfloat16, int8, int4 };

/// Bytes in the phases of a training step that the command distinguishes.
struct AccelerateTraining {
  double model = 0;
  double gradients = 0;
  double optimizer = 0;
  double step = 0;

  /// "Training using Adam": the largest of them.
  [[nodiscard]] double peak() const;
};

/// For a model whose parameters and buffers take `fp32_bytes` (S) in fp32; absent for int8 and
/// int4. Source: accelerate/commands/estimate.py, estimate_training_usage.
std::optional<AccelerateTraining> accelerate_training(double fp32_bytes, AccelerateDtype dtype);

/// Bytes to load the model: S, S / 2, S / 4 or S / 8. Source: accelerate/commands/estimate.py,
/// gather_data.
double accelerate_inference(double fp32_bytes, AccelerateDtype dtype);

/// Bytes of training under the rule that the user guide's tables follow, older than the code's: 4
/// times the size in `dtype`. Source: Accelerate documentation, "Model memory estimator".
double accelerate_training_old(double fp32_bytes, AccelerateDtype dtype);

extern const Formula kAccelerate;

}  // namespace highwater
