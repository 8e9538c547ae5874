// Training as Megatron-LM does it (training/training.py: train_step, with the schedule without a
// pipeline, core/pipeline_parallel/schedules.py: forward_backward_no_pipelining).
#pragma once

#include <optional>

#include "workloads/megatron/data_parallel/optimizer.hpp"
#include "workloads/strategy/strategy.hpp"

namespace highwater {
struct TrainingPlan;
}

namespace highwater::megatron {

class MegatronStrategy : public Strategy {
 public:
  /// Both must outlive the strategy.
  MegatronStrategy(models::LanguageModel& model, const TrainingPlan& plan);

  models::Outputs forward(models::Inputs inputs) override {
    return model_.forward(std::move(inputs));
  }

  void backward(const Tensor& loss) override { backward_stage(loss, {}); }

  void backward_stage(const Tensor& output, const Tensor& gradient) override;

  void pass_backward() override { ++backwards_; }

  void clip_gradients() override;
  void step() override;
  void zero_grad() override;

 private:
  [[nodiscard]] int backwards_per_step() const;
  void make_muon();
  void for_each_buffer(void (DistributedDataParallel::*call)());
  void for_each_optimizer(void (MixedPrecisionOptimizer::*call)());
  void finalize_gradients();
  void prepare_gradients();

  models::LanguageModel& model_;
  const TrainingPlan& plan_;
  dist::ProcessGroup tp_group_;
  DistributedDataParallel ddp_;
  std::optional<DistributedDataParallel> matrix_ddp_;  ///< of those that Muon updates layer-wise
  std::optional<DistributedDataParallel> expert_ddp_;  ///< of experts spread over ranks
  std::optional<MixedPrecisionOptimizer> muon_;
  std::optional<MixedPrecisionOptimizer> expert_muon_;       ///< of experts spread over ranks
  std::optional<MixedPrecisionOptimizer> optimizer_;         ///< made after all buffers
  std::optional<MixedPrecisionOptimizer> expert_optimizer_;  ///< the second of a ChainedOptimizer
  int backwards_ = 0;                                        ///< in this step
  bool is_prepared_ = false;
};

}  // namespace highwater::megatron
