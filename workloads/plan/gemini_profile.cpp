#include "workloads/plan/gemini_profile.hpp"

namespace highwater::dist {

void apply_gemini_profile(TrainingPlan& plan) {
  plan.framework = Framework::colossalai_gemini;
  plan.precision = Precision::fp16;
  plan.attention = Attention::eager;
  plan.checkpoint = {.kind = CheckpointKind::full, .reentrant = true};
  plan.init = ModelInit::pretrained_half;
  plan.attention_mask = true;
  plan.parallel.dp_kind = DataParallel::zero3;
  plan.parallel.tp_kind = TensorParallel::colossalai;
}

}  // namespace highwater::dist
