#include "workloads/plan/options/framework_profile.hpp"

#include <algorithm>
#include <array>

#include "workloads/plan/options/option_table.hpp"

namespace highwater {
namespace {

constexpr std::string_view kMegatronCore = "megatron-core 0.16.1 models/gpt";
constexpr std::string_view kLlmem = "LLMem's dp_real.py";

constexpr std::string_view kBoundOutputs =
    "outputs = model(**batch) in a script: the name lives until it is bound again";
constexpr std::string_view kConfigsCache =
    "transformers 5.23 configuration of each decoder: use_cache=True";

constexpr std::array kPlainLoopDefaults{
    FrameworkDefault{Framework::hf, "keep-logits", "true", kBoundOutputs},
    FrameworkDefault{Framework::hf, "use-cache", "true", kConfigsCache},
    FrameworkDefault{Framework::hf, "init", "cpu",
                     "transformers 5.23 modeling_utils.py from_pretrained: device_map=None, then "
                     ".to(\"cuda\")"},
};

/// transformers' Trainer, itself or below TRL's.
constexpr std::array<FrameworkDefault, 5> trainer_defaults(Framework framework) {
  return {{
      {framework, "optimizer-impl", "fused",
       "transformers 5.23 training_args.py optim: adamw_torch_fused since torch 2.8"},
      {framework, "param-groups", "2",
       "transformers 5.23 trainer.py create_optimizer: norms and biases without weight decay"},
      {framework, "grad-clip", "1", "transformers 5.23 training_args.py max_grad_norm"},
      {framework, "init", "cpu", "transformers 5.23 trainer.py _move_model_to_device"},
      {framework, "find-unused-parameters", "true",
       "transformers 5.23 trainer.py _build_accelerator_args: unless checkpointed"},
  }};
}

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
constexpr std::array kOtherDefaults{
    FrameworkDefault{Framework::trl_sft, "precision", "amp-bf16",
                     "trl 1.16 trainer/base_config.py __post_init__: bf16 unless fp16"},
    FrameworkDefault{Framework::trl_sft, "checkpoint", "full",
                     "trl 1.16 trainer/base_config.py gradient_checkpointing"},
    FrameworkDefault{Framework::trl_sft, "loss", "trl",
                     "trl 1.16 trainer/sft_trainer.py compute_loss: no logits are made"},
    FrameworkDefault{Framework::trl_sft, "prepare-kbit", "false",
                     "trl 1.16 trainer/sft_trainer.py __init__: get_peft_model alone"},
    FrameworkDefault{Framework::accelerate_fsdp2, "dp-kind", "fsdp2",
                     "accelerate 1.15 utils/dataclasses.py FullyShardedDataParallelPlugin"},
    FrameworkDefault{Framework::accelerate_fsdp2, "keep-logits", "true", kBoundOutputs},
    FrameworkDefault{Framework::accelerate_fsdp2, "use-cache", "true", kConfigsCache},
    FrameworkDefault{Framework::torchtitan, "model-code", "torchtitan",
                     "torchtitan 0.3 models/llama3/model.py"},
    FrameworkDefault{Framework::torchtitan, "torchtitan", "0.3",
                     "Highwater's choice: the newest release that is known"},
    FrameworkDefault{Framework::torchtitan, "zero-grad-at", "start",
                     "torchtitan 0.3 trainer.py train_step"},
    FrameworkDefault{Framework::torchtitan, "dp-kind", "fsdp2",
                     "torchtitan 0.3 distributed/fsdp.py apply_fsdp_to_decoder"},
    FrameworkDefault{Framework::torchtitan, "optimizer-impl", "fused",
                     "torchtitan 0.3 components/optimizer/optimizer.py implementation"},
    FrameworkDefault{Framework::torchtitan, "grad-clip", "1",
                     "torchtitan 0.3 config/configs.py max_norm"},
    FrameworkDefault{Framework::torchtitan, "checkpoint", "selective-op",
                     "torchtitan 0.3 models/llama3/config_registry.py: SelectiveAC"},
    FrameworkDefault{Framework::torchtitan, "loss", "chunked-8",
                     "torchtitan 0.3 components/loss.py ChunkedLossWrapper: num_chunks"},
    FrameworkDefault{Framework::torchtune, "model-code", "torchtune",
                     "torchtune 0.6 models/llama3/_component_builders.py"},
    FrameworkDefault{Framework::torchtune, "dp-kind", "fsdp2",
                     "torchtune 0.6 training/_distributed.py shard_model"},
    FrameworkDefault{Framework::torchtune, "precision", "bf16",
                     "torchtune 0.6 recipes/configs/llama3_2: dtype"},
    FrameworkDefault{Framework::torchtune, "loss", "chunked-8",
                     "torchtune 0.6 modules/loss CEWithChunkedOutputLoss: num_output_chunks"},
    FrameworkDefault{Framework::torchtune, "optimizer-impl", "fused",
                     "torchtune 0.6 recipes/configs/llama3_2/3B_full.yaml: fused"},
    FrameworkDefault{Framework::lightning, "use-cache", "true", kConfigsCache},
    FrameworkDefault{Framework::lightning, "init", "cpu",
                     "lightning 2.6 strategies/strategy.py setup: model_to_device"},
    FrameworkDefault{Framework::lightning, "zero-grad-at", "backward",
                     "lightning 2.6 loops/optimization/automatic.py Closure.closure"},
    FrameworkDefault{Framework::megatron, "model-code", "megatron", kMegatronCore},
    FrameworkDefault{Framework::megatron, "tp-kind", "megatron", kMegatronCore},
    FrameworkDefault{Framework::megatron, "precision", "bf16",
                     "Megatron-LM arguments.py --bf16, as in recipes"},
    FrameworkDefault{Framework::megatron, "attention", "sdpa-flash",
                     "Megatron-LM arguments.py --attention-backend"},
    FrameworkDefault{Framework::megatron, "grad-clip", "1", "Megatron-LM arguments.py --clip-grad"},
    FrameworkDefault{Framework::megatron, "zero-grad-at", "start",
                     "Megatron-LM training.py train_step"},
    FrameworkDefault{Framework::deepspeed, "dp-kind", "zero0",
                     "deepspeed 0.16.4 runtime/zero/config.py: stage"},
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

template <std::size_t... Sizes>
constexpr auto joined(const std::array<FrameworkDefault, Sizes>&... parts) {
  std::array<FrameworkDefault, (Sizes + ...)> all{};
  auto next = all.begin();
  ((next = std::ranges::copy(parts, next).out), ...);
  return all;
}

constexpr auto kFrameworkDefaults = joined(kPlainLoopDefaults, trainer_defaults(Framework::trainer),
                                           trainer_defaults(Framework::trl_sft), kOtherDefaults);

/// What the plan has of its framework goes back to what a bare loop has.
void leave_framework(TrainingPlan& plan) {
  for (const FrameworkDefault& row : kFrameworkDefaults) {
    const Option& option = option_called(row.option);
    if (row.framework == plan.framework && option.text(plan) == row.word) {
      static_cast<void>(option.set(plan, option.text(TrainingPlan{})));
    }
  }
}

}  // namespace

std::span<const FrameworkDefault> framework_defaults() {
  return kFrameworkDefaults;
}

void apply_framework(Framework framework, TrainingPlan& plan) {
  leave_framework(plan);
  plan.framework = framework;
  for (const FrameworkDefault& row : kFrameworkDefaults) {
    if (row.framework == framework) {
      static_cast<void>(option_called(row.option).set(plan, row.word));  // tested: none complains
    }
  }
}

Framework default_framework(ModelCode code) {
  return code == ModelCode::hf ? Framework::hf : Framework::torch;
}

TrainingPlan default_plan() {
  TrainingPlan plan;
  apply_framework(default_framework(plan.model_code), plan);
  return plan;
}

CheckpointKind selective_kind(Framework framework) {
  const bool is_megatron = framework == Framework::megatron || framework == Framework::nemo;
  return is_megatron ? CheckpointKind::selective_attention : CheckpointKind::selective_op;
}

}  // namespace highwater
