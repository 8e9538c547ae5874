#include "workloads/plan/options/framework_profile.hpp"

#include <array>

#include "workloads/plan/options/option_table.hpp"

namespace highwater {
namespace {

constexpr std::string_view kMegatronCore = "megatron-core 0.16.1 models/gpt";
constexpr std::string_view kLlmem = "LLMem's dp_real.py";

// Megatron-LM: --clip-grad 1.0, gradients zeroed at the start of train_step, flash attention
// through Transformer Engine (--attention-backend auto). It trains in bf16 only if told to
// (--bf16), as every published recipe does.
//
// NeMo 1.20: gradient_clip_val 1.0, distributed_fused_adam, contiguous_grad_buffer; bucket_cap_mb
// stays Apex's 100.
//
// LLMem's dp_real.py and tp_real.py: a pretrained model is loaded in fp32, moved to the GPU, halved
// and checkpointed block by block (reentrant, as transformers did); GeminiPlugin(placement_policy
// "cuda", precision "fp16"), ColoTensor's tensor parallelism; a batch has an attention mask.
constexpr std::array kFrameworkDefaults{
    FrameworkDefault{Framework::megatron, "model-code", "megatron", kMegatronCore},
    FrameworkDefault{Framework::megatron, "tp-kind", "megatron", kMegatronCore},
    FrameworkDefault{Framework::megatron, "precision", "bf16",
                     "Megatron-LM arguments.py --bf16, as in recipes"},
    FrameworkDefault{Framework::megatron, "attention", "sdpa-flash",
                     "Megatron-LM arguments.py --attention-backend"},
    FrameworkDefault{Framework::megatron, "grad-clip", "1", "Megatron-LM arguments.py --clip-grad"},
    FrameworkDefault{Framework::megatron, "zero-grad-at", "start",
                     "Megatron-LM training.py train_step"},
    FrameworkDefault{Framework::nemo, "model-code", "megatron", kMegatronCore},
    FrameworkDefault{Framework::nemo, "tp-kind", "megatron", kMegatronCore},
    FrameworkDefault{Framework::nemo, "precision", "bf16",
                     "NeMo 1.20 recipes; megatron_gpt_config.yaml: 16"},
    FrameworkDefault{Framework::nemo, "attention", "sdpa-flash", "Megatron-LM arguments.py"},
    FrameworkDefault{Framework::nemo, "grad-clip", "1", "NeMo 1.20 conf/megatron_gpt_config.yaml"},
    FrameworkDefault{Framework::nemo, "zero-grad-at", "start",
                     "NeMo 1.20 megatron_gpt_model.py training_step"},
    FrameworkDefault{Framework::nemo, "dp-kind", "zero1",
                     "NeMo 1.20: optim.name distributed_fused_adam"},
    FrameworkDefault{Framework::nemo, "apex-contiguous-grads", "true",
                     "NeMo 1.20 megatron_base_model.py setup_optimization"},
    FrameworkDefault{Framework::colossalai_gemini, "precision", "fp16", kLlmem},
    FrameworkDefault{Framework::colossalai_gemini, "attention", "eager",
                     "transformers of LLMem's time"},
    FrameworkDefault{Framework::colossalai_gemini, "checkpoint", "full", kLlmem},
    FrameworkDefault{Framework::colossalai_gemini, "checkpoint-impl", "reentrant",
                     "torch 2.6 utils/checkpoint.py: True unless told"},
    FrameworkDefault{Framework::colossalai_gemini, "init", "pretrained-half", kLlmem},
    FrameworkDefault{Framework::colossalai_gemini, "attention-mask", "true", kLlmem},
    FrameworkDefault{Framework::colossalai_gemini, "dp-kind", "zero3",
                     "colossalai 0.3.0 zero/gemini"},
    FrameworkDefault{Framework::colossalai_gemini, "tp-kind", "colossalai", "LLMem's tp_real.py"},
};

}  // namespace

std::span<const FrameworkDefault> framework_defaults() {
  return kFrameworkDefaults;
}

void apply_framework(Framework framework, TrainingPlan& plan) {
  plan.framework = framework;
  for (const FrameworkDefault& row : kFrameworkDefaults) {
    if (row.framework == framework) {
      static_cast<void>(option_called(row.option).set(plan, row.word));  // tested: none complains
    }
  }
}

CheckpointKind selective_kind(Framework framework) {
  const bool is_megatron = framework == Framework::megatron || framework == Framework::nemo;
  return is_megatron ? CheckpointKind::selective_attention : CheckpointKind::selective_op;
}

}  // namespace highwater
