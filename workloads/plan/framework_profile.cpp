#include "workloads/plan/framework_profile.hpp"

#include "workloads/plan/gemini_profile.hpp"

namespace highwater {
namespace {

// Megatron-LM (training/arguments.py): --clip-grad 1.0, gradients zeroed at the start of train_step
// (training/training.py), flash attention through Transformer Engine (--attention-backend auto). It
// trains in bf16 only if told to (--bf16), as every published recipe does.
void apply_megatron(TrainingPlan& plan) {
  plan.model_code = ModelCode::megatron;
  plan.parallel.tp_kind = TensorParallel::megatron;
  plan.precision = Precision::bf16;
  plan.attention = Attention::sdpa_flash;
  plan.grad_clip = 1.0;
  plan.zero_grad_at = ZeroGradAt::start;
}

// NeMo 1.20 (examples/nlp/language_modeling/conf/megatron_gpt_config.yaml: gradient_clip_val 1.0,
// distributed_fused_adam; megatron_base_model.py: setup_optimization, contiguous_grad_buffer).
// bucket_cap_mb stays Apex's 100.
void apply_nemo(TrainingPlan& plan) {
  apply_megatron(plan);
  plan.parallel.dp_kind = DataParallel::zero1;
  plan.parallel.apex.contiguous_grads = true;
}

}  // namespace

void apply_framework(Framework framework, TrainingPlan& plan) {
  plan.framework = framework;
  switch (framework) {
    case Framework::megatron:
      apply_megatron(plan);
      break;
    case Framework::nemo:
      apply_nemo(plan);
      break;
    case Framework::colossalai_gemini:
      dist::apply_gemini_profile(plan);
      break;
    case Framework::torch:
    case Framework::deepspeed:
      break;
  }
}

CheckpointKind selective_kind(Framework framework) {
  const bool is_megatron = framework == Framework::megatron || framework == Framework::nemo;
  return is_megatron ? CheckpointKind::selective_attention : CheckpointKind::selective_op;
}

}  // namespace highwater
