// What a training step runs between zero_grad and the optimizer: data, forwards and backwards.
//
// Each order in which these come is one class: micro-batch after micro-batch, the stage of a
// pipeline (Megatron-Core's, PyTorch's own), a model spread over the GPUs of one process.
#pragma once

#include <optional>

#include "workloads/kernels/attention.hpp"
#include "workloads/plan/attention.hpp"

namespace highwater {

class StepRunner {
 public:
  StepRunner() = default;
  StepRunner(const StepRunner&) = delete;
  StepRunner& operator=(const StepRunner&) = delete;
  virtual ~StepRunner() = default;

  /// Runs the data loading, forwards and backwards of step number `step`.
  virtual void run(int step) = 0;
};

/// The parts of a batch that a rank needs.
struct BatchParts {
  bool tokens = true;
  bool labels = true;

  bool operator==(const BatchParts&) const = default;
};

/// The backend that the script's sdpa_kernel() asks for; absent: PyTorch's own choice.
std::optional<SdpaBackend> forced_backend(Attention attention);

}  // namespace highwater
