// A training step micro-batch by micro-batch: the order of a script without a pipeline, variable by
// variable.
//
// Names that survive an iteration (tokens, labels, outputs, loss) die when they are bound again, as
// in Python: the new value exists before the old one is freed.
#pragma once

#include <cstdint>
#include <optional>

#include "workloads/distributed/context_parallel/context_parallel.hpp"
#include "workloads/distributed/context_parallel/ring_attention.hpp"
#include "workloads/eager/autocast.hpp"
#include "workloads/strategy/step_runner.hpp"
#include "workloads/strategy/strategy.hpp"
#include "workloads/training/batch_loader.hpp"
#include "workloads/training/batch_samples.hpp"

namespace highwater {

struct TrainingPlan;

class MicroBatchLoop : public StepRunner {
 public:
  /// All must outlive the loop.
  MicroBatchLoop(eager::Runtime& runtime, const TrainingPlan& plan, Strategy& strategy);

  void run(int step) override;

 private:
  void micro_batch(std::int64_t index);
  void share_sequences();
  void compute_loss();
  void divide_loss();
  [[nodiscard]] bool divides_by_labels() const;
  void backward();
  void loss_inside_model(std::optional<eager::AutocastContext>& autocast);
  void loss_of_smoothed_labels(std::optional<eager::AutocastContext>& autocast);
  void loss_outside_model();
  void loss_of_grid();
  void loss_of_chunks();

  eager::Runtime& runtime_;
  const TrainingPlan& plan_;
  Strategy& strategy_;
  BatchLoader loader_;
  models::Inputs batch_;
  models::Outputs outputs_;
  eager::Tensor loss_;
  eager::Tensor step_loss_;                       ///< Trainer's tr_loss_step
  std::optional<BatchSamples> samples_;           ///< of transformers' Trainer
  std::optional<dist::RingAttention> attention_;  ///< of ranks that share sequences
  std::optional<dist::ContextParallel> context_;
  eager::Tensor logged_loss_;     ///< Trainer's sum of the losses since it logged
  eager::Tensor ignored_labels_;  ///< for the chunked loss: one more label for each sequence
};

}  // namespace highwater
