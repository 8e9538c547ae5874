// Brings the batches of a training script to the device: tokens, labels, attention mask.
#pragma once

#include <cstdint>

#include "workloads/models/language_model.hpp"
#include "workloads/strategy/step_runner.hpp"

namespace highwater {

struct TrainingPlan;

class BatchLoader {
 public:
  /// Both must outlive the loader.
  BatchLoader(eager::Runtime& runtime, const TrainingPlan& plan) : runtime_(runtime), plan_(plan) {}

  /// Binds the variables of `batch` to micro-batch `index`, counted over all steps.
  void load(std::int64_t index, BatchParts parts, models::Inputs& batch) const;

  /// An input of `length` integers per sequence.
  [[nodiscard]] eager::Tensor tensor(std::int64_t length) const;

 private:
  [[nodiscard]] eager::Tensor of_sizes(const eager::Dims& sizes) const;
  [[nodiscard]] eager::Tensor positions(std::int64_t length) const;
  void fill(std::int64_t length, BatchParts parts, models::Inputs& batch) const;
  void take_own_part(eager::Tensor& whole) const;

  eager::Runtime& runtime_;
  const TrainingPlan& plan_;
};

}  // namespace highwater
