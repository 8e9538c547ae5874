// A step of torchtitan 0.3: micro-batches, block masks, forward, the loss chunk by chunk, backward.
//
// Source: torchtitan 0.3, trainer.py (train_step, post_dataloading_process,
// _forward_backward_body) as it runs with --training.disable_cuda_graphs: by default a CUDA graph
// of forward and backward is captured in the second step. What is logged is left out.
#pragma once

#include "workloads/models/language_model.hpp"
#include "workloads/plan/training_plan.hpp"
#include "workloads/strategy/step_runner.hpp"
#include "workloads/strategy/strategy.hpp"
#include "workloads/torchtitan/flex_attention.hpp"
#include "workloads/torchtitan/sequence_parallel.hpp"

namespace highwater::torchtitan {

class TrainStep : public StepRunner {
 public:
  /// All must outlive the step.
  TrainStep(const models::LanguageModel& model, const TrainingPlan& plan, Strategy& strategy)
      : runtime_(model.runtime()),
        model_(model),
        plan_(plan),
        strategy_(strategy),
        ranks_(runtime_, plan.parallel.tp, plan.parallel.backend) {}

  void run(int step) override;

 private:
  void load(std::int64_t index);
  void forward_backward();
  void take_own_part();
  [[nodiscard]] eager::Tensor count_tokens() const;
  [[nodiscard]] eager::Tensor integers(std::int64_t length) const;

  eager::Runtime& runtime_;
  const models::LanguageModel& model_;
  const TrainingPlan& plan_;
  Strategy& strategy_;
  SequenceRanks ranks_;
  models::Inputs batch_;
  eager::Tensor valid_tokens_;
  eager::Tensor loss_;
};

}  // namespace highwater::torchtitan
