// DeepSpeed's engine: what deepspeed.initialize() returns and a training script calls.
//
// Source: DeepSpeed 0.16.4 and 0.19.8, runtime/engine.py (DeepSpeedEngine). The engine divides the
// loss by the number of micro-batches, keeps its mean for the log until the step (0.16.4), clips
// inside the step, and drops gradients itself, so clip_gradients() and zero_grad() do nothing.
#pragma once

#include <memory>

#include "workloads/deepspeed/common/zero_optimizer.hpp"
#include "workloads/deepspeed/zero_init.hpp"
#include "workloads/distributed/process_group.hpp"
#include "workloads/strategy/strategy.hpp"

namespace highwater::deepspeed {

class Engine : public Strategy {
 public:
  /// `plan` and `model` must outlive the engine.
  Engine(models::LanguageModel& model, const TrainingPlan& plan);

  models::Outputs forward(models::Inputs inputs) override;
  void backward(const eager::Tensor& loss) override;
  void step() override;

  void clip_gradients() override {}

  void zero_grad() override {}

  [[nodiscard]] bool divides_loss() const override { return true; }

 private:
  [[nodiscard]] models::Outputs call_model(models::Inputs inputs);
  void move_adapters();
  void convert_model();
  void broadcast_model();
  void make_overflow_buffer();
  void make_optimizer(PartitionedParameters made);
  [[nodiscard]] eager::Tensor divided(const eager::Tensor& loss) const;

  models::LanguageModel& model_;
  nn::Module peft_model_;  ///< with LoRA, PEFT's PeftModel, which calls the next
  nn::Module lora_model_;  ///< PEFT's LoraModel, which calls the model
  const TrainingPlan& plan_;
  dist::ProcessGroup group_;
  eager::Tensor overflow_buffer_;
  std::unique_ptr<ZeroOptimizer> optimizer_;
  eager::Tensor losses_;  ///< mean of this step's losses so far
  /// accelerate's backward() ends with the step, while its caller has the loss and its graph
  /// (accelerate 1.15, utils/deepspeed.py DeepSpeedEngineWrapper.backward).
  eager::Tensor callers_loss_;
  eager::Tensor global_norm_;  ///< of the last step: kept until the next one is through
  int micro_steps_ = 0;
};

}  // namespace highwater::deepspeed
