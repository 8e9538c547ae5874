// The defaults of LLMem's training scripts, each of which an option overrides.
#pragma once

#include "workloads/plan/training_plan.hpp"

namespace highwater::dist {

/// dp_real.py and tp_real.py: a pretrained model is loaded in fp32, moved to the GPU, halved and
/// checkpointed block by block (reentrant, as Transformers did); GeminiPlugin(placement_policy
/// "cuda", precision "fp16"), ColoTensor's tensor parallelism; a batch has an attention mask.
void apply_gemini_profile(TrainingPlan& plan);

}  // namespace highwater::dist
