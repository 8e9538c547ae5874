// The micro-batches of a step as transformers' Trainer brings them: all before the first forward,
// with the number of their labels.
//
// Source: transformers 5.23, trainer.py get_batch_samples and _get_num_items_in_batch.
#pragma once

#include <vector>

#include "workloads/plan/training_plan.hpp"
#include "workloads/training/batch_loader.hpp"

namespace highwater {

/// _get_num_items_in_batch: how many labels `samples` have that count, on all ranks.
eager::Tensor count_labels(const TrainingPlan& plan, const std::vector<models::Inputs>& samples);

/// The loss of --label-smoothing, which the model does not compute.
eager::Tensor smoothed_loss_of(const TrainingPlan& plan, const models::Outputs& outputs,
                               const eager::Tensor& labels, const eager::Tensor& label_count);

class BatchSamples {
 public:
  /// Both must outlive it.
  BatchSamples(eager::Runtime& runtime, const TrainingPlan& plan)
      : runtime_(runtime), plan_(plan), loader_(runtime, plan) {}

  /// Those of the step that begins with micro-batch `first`; the step before keeps its own until
  /// then.
  void fetch(std::int64_t first);

  [[nodiscard]] const models::Inputs& at(std::int64_t index) const {
    return samples_[static_cast<std::size_t>(index % plan_.grad_accum)];
  }

  /// num_items_in_batch, by which the sum of the step's losses is divided.
  [[nodiscard]] const eager::Tensor& label_count() const { return label_count_; }

 private:
  eager::Runtime& runtime_;
  const TrainingPlan& plan_;
  BatchLoader loader_;
  std::vector<models::Inputs> samples_;
  eager::Tensor label_count_;
};

}  // namespace highwater
