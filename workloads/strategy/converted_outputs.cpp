#include "workloads/strategy/converted_outputs.hpp"

#include <utility>

#include "workloads/plan/training_plan.hpp"

namespace highwater {
namespace {

void convert(eager::Tensor& output) {
  if (output.defined()) {
    output = eager::to_dtype(output, DType::fp32);
  }
}

}  // namespace

bool converts_outputs(const TrainingPlan& plan) {
  return runs_accelerate(plan.framework) && runs_autocast(plan);
}

void convert_to_fp32(models::Outputs& outputs) {
  eager::Tensor logits = outputs.logits;
  eager::Tensor encoder_states = outputs.encoder_states;
  convert(outputs.logits);
  convert(outputs.encoder_states);
  eager::end_of_frame(logits, encoder_states);
}

}  // namespace highwater
