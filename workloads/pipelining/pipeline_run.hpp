// A training step of a rank whose stages torch.distributed.pipelining runs.
//
// The script is torchtitan's of January 2025 (train.py): every rank loads tokens and labels of the
// whole batch, the first gives the tokens to schedule.step(), the last the labels; its losses are
// averaged. schedules.py: PipelineScheduleSingle.step and PipelineScheduleMulti.step cut the batch
// into views. No loss is divided: gradients of micro-batches add up, and are divided in place since
// PyTorch 2.7 (scale_grads).
#pragma once

#include <memory>
#include <vector>

#include "workloads/pipelining/schedule_loop.hpp"
#include "workloads/pipelining/stage.hpp"
#include "workloads/plan/pipeline/pipeline_actions.hpp"
#include "workloads/strategy/step_runner.hpp"

namespace highwater {
struct TrainingPlan;
}

namespace highwater::pipelining {

class PipelineRun : public StepRunner {
 public:
  /// All must outlive the run.
  PipelineRun(models::LanguageModel& model, const TrainingPlan& plan, Strategy& strategy);

  void run(int step) override;

 private:
  void load_batch();
  [[nodiscard]] eager::Tensor whole_batch();
  [[nodiscard]] eager::Tensor part_of(const eager::Tensor& whole, int micro_batch) const;
  void schedule_step();
  void initialize_stages();
  void connect();
  void act(const dist::PipelineAction& action);
  void forward(Stage& stage, int micro_batch);
  void backward(Stage& stage, int micro_batch);
  [[nodiscard]] eager::Tensor compute_loss(const eager::Tensor& logits, int micro_batch);

  eager::Runtime& runtime_;
  const TrainingPlan& plan_;
  dist::ProcessGroup batched_;
  dist::ProcessGroup previous_;
  dist::ProcessGroup next_;
  std::vector<std::unique_ptr<Stage>> stages_;  ///< by model chunk
  dist::PipelineJob job_;
  std::vector<dist::PipelineAction> actions_;
  std::unique_ptr<ScheduleLoop> loop_;
  bool is_initialized_ = false;
  eager::Tensor tokens_;
  eager::Tensor labels_;
  std::vector<eager::Tensor> internal_losses_;
  std::vector<eager::Tensor> losses_;  ///< the script's list, until the next step
  eager::Tensor loss_;                 ///< the script's, until it is bound again
};

}  // namespace highwater::pipelining
