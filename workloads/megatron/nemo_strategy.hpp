// Training as NeMo does it with Apex's distributed Adam: Megatron-Core's model without DDP.
//
// Source: NeMo 1.20, megatron_gpt_model.py: training_step (zero_grad first, gradients reduced in
// the last micro-batch's backward, those of sequence parallelism afterwards).
#pragma once

#include "workloads/megatron/data_parallel/apex_adam.hpp"
#include "workloads/plan/training_plan.hpp"
#include "workloads/strategy/strategy.hpp"

namespace highwater::megatron {

class NemoStrategy : public Strategy {
 public:
  /// Both must outlive the strategy.
  NemoStrategy(models::LanguageModel& model, const TrainingPlan& plan)
      : model_(model), plan_(plan), optimizer_(model, plan.parallel) {}

  models::Outputs forward(models::Inputs inputs) override {
    return model_.forward(std::move(inputs));
  }

  void backward(const Tensor& loss) override { backward_stage(loss, {}); }

  void backward_stage(const Tensor& output, const Tensor& gradient) override {
    const int last = plan_.grad_accum * model_chunks(plan_.parallel);
    optimizer_.expect(last_if(backwards_ + 1 == last));
    eager::backward(output, gradient);
    if (++backwards_ == last) {
      optimizer_.sync_gradients();
    }
  }

  void pass_backward() override { ++backwards_; }

  void clip_gradients() override { optimizer_.clip_grad_norm(); }

  void step() override { optimizer_.step(); }

  void zero_grad() override {
    backwards_ = 0;
    optimizer_.zero_grad();
  }

  [[nodiscard]] std::optional<BucketUse> bucket_use() const override {
    return optimizer_.bucket_use();
  }

 private:
  models::LanguageModel& model_;
  const TrainingPlan& plan_;
  ApexDistributedAdam optimizer_;
  int backwards_ = 0;  ///< in this step
};

}  // namespace highwater::megatron
