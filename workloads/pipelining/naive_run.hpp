// A training step of one process whose model is spread over several GPUs, seen from one of them.
//
// transformers with a device_map (accelerate 1.6.0, dispatch_model with AlignDevicesHook): tokens,
// labels and the result are on the first device, embedding and rotary tables too; blocks follow in
// shares; norm, head and loss are on the last, but a tied head and the loss where the embedding is.
// A hook copies each block's inputs to its device. Micro-batches run forward and backward one after
// the other; gradients come back as copies. A rank of the plan is a device here.
#pragma once

#include <cstdint>

#include "workloads/strategy/step_runner.hpp"
#include "workloads/strategy/strategy.hpp"

namespace highwater::pipelining {

class NaiveRun : public StepRunner {
 public:
  /// All must outlive the run.
  NaiveRun(eager::Runtime& runtime, const TrainingPlan& plan, Strategy& strategy);

  void run(int step) override;

 private:
  void micro_batch();
  void load_batch();
  [[nodiscard]] eager::Tensor batch_tensor();
  [[nodiscard]] models::Outputs forward();
  [[nodiscard]] eager::Tensor copied_loss();
  [[nodiscard]] eager::Tensor own_loss();
  void first_device();
  void last_device();
  [[nodiscard]] eager::Tensor boundary();
  [[nodiscard]] eager::Tensor received();

  eager::Runtime& runtime_;
  const TrainingPlan& plan_;
  Strategy& strategy_;
  int device_;
  bool is_tied_;
  eager::Tensor tokens_;
  eager::Tensor labels_;
  eager::Tensor loss_;  ///< the script's, on the first device
};

}  // namespace highwater::pipelining
