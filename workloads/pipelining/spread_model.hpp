// A model of one process whose blocks are spread over its GPUs, seen from one of them.
//
// transformers with a device_map (accelerate 1.6.0 to 1.15.0, dispatch_model with
// AlignDevicesHook): tokens, labels and the result are on the first GPU, so are embeddings and
// rotary tables; the blocks of each list follow in shares; the norm beside a list is on the last
// GPU, and so is the head unless it is tied. A hook copies a module's arguments to its GPU, the
// root's its results to that of its input. The whole model runs; the trace is of one GPU, a rank of
// the plan.
#pragma once

#include "workloads/strategy/wrapper.hpp"

namespace highwater::pipelining {

/// Makes the model on the host and tells each module where it runs. From here on the trace is of
/// the GPU that the plan's rank names.
std::unique_ptr<models::LanguageModel> make_spread(
    nn::ModelContext& context,
    std::unique_ptr<models::LanguageModel> (*make)(nn::ModelContext& context));

/// dispatch_model: brings the parts to their GPUs, one block or layer after the other, parameters
/// before buffers (hooks.py, AlignDevicesHook.init_hook).
void dispatch(nn::Module& model);

/// What the script calls; its parameters are those of the GPU that is traced.
class SpreadModel : public Wrapper {
 public:
  explicit SpreadModel(models::LanguageModel& model) : model_(model) {}

  models::Outputs forward(models::Inputs inputs) override;

  [[nodiscard]] std::vector<eager::Tensor> parameters() const override;

  /// Of all GPUs' parameters together.
  void clip_gradients() override;

 private:
  models::LanguageModel& model_;
};

}  // namespace highwater::pipelining
