// A step of torchtune's fine-tuning recipes: micro-batches, the loss times the tokens that it is
// of, and gradients divided by the tokens of the step.
//
// Source: torchtune 0.6.1, recipes/full_finetune_single_device.py (train, _loss_step) and
// recipes/full_finetune_distributed.py (train), with packed: False; training/_grad_scaler.py.
#pragma once

#include "workloads/distributed/process_group.hpp"
#include "workloads/models/language_model.hpp"
#include "workloads/plan/training_plan.hpp"
#include "workloads/strategy/step_runner.hpp"
#include "workloads/strategy/strategy.hpp"

namespace highwater::torchtune {

class RecipeStep : public StepRunner {
 public:
  /// All must outlive the step.
  RecipeStep(eager::Runtime& runtime, const TrainingPlan& plan, Strategy& strategy);

  void run(int step) override;

 private:
  void log();
  void micro_batch(std::int64_t index);
  void load(std::int64_t length);
  void count_tokens();
  [[nodiscard]] eager::Tensor loss();
  [[nodiscard]] eager::Tensor loss_of_tokens();
  void scale_gradients();
  [[nodiscard]] eager::Tensor integers(std::int64_t length) const;

  [[nodiscard]] bool is_distributed() const { return plan_.parallel.dp > 1; }

  eager::Runtime& runtime_;
  const TrainingPlan& plan_;
  Strategy& strategy_;
  dist::ProcessGroup ranks_;
  eager::Tensor ignored_labels_;
  // Variables of train().
  models::Inputs batch_;
  eager::Tensor labels_;
  eager::Tensor current_num_tokens_;
  eager::Tensor num_tokens_;
  eager::Tensor current_loss_;
  eager::Tensor running_loss_;
  eager::Tensor loss_to_log_;
  eager::Tensor tokens_per_second_;
};

}  // namespace highwater::torchtune
