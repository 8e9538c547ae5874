#include "tools/options/option_sources.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include <fmt/format.h>

#include "tools/options/plan_words.hpp"
#include "workloads/plan/framework_profile.hpp"

namespace highwater {
namespace {

using SourceWords = std::vector<std::pair<std::string, std::string>>;

struct OptionSource {
  std::string_view option;
  std::string_view source;
  std::string_view value = "";  ///< where the plan's own word says too little
};

// "ours" is a choice of this program, where frameworks leave it to the script.
constexpr std::array kSources{
    OptionSource{"model", "ours: every plan names its model", "none: it has to be given"},
    OptionSource{"model-code", "ours"},
    OptionSource{"framework", "ours: a plain PyTorch script"},
    OptionSource{"batch", "ours: the least there is"},
    OptionSource{"seq", "ours: all positions of GPT-2"},
    OptionSource{"precision", "torch 2.6 torch.get_default_dtype()"},
    OptionSource{"attention",
                 "transformers 5.12 modeling_utils.py get_correct_attn_implementation; eager for "
                 "classes without SDPA"},
    OptionSource{"checkpoint", "transformers 5.12 training_args.py gradient_checkpointing"},
    OptionSource{
        "checkpoint-impl",
        "transformers 5.12 modeling_utils.py gradient_checkpointing_enable: use_reentrant"},
    OptionSource{"dropout", "transformers 5.12, the model's config.json", "the model's own"},
    OptionSource{"loss", "transformers 5.12 loss/loss_utils.py ForCausalLMLoss"},
    OptionSource{"keep-logits", "ours: a loop that keeps the loss alone"},
    OptionSource{"use-cache", "ours: training needs none, though transformers' configs ask for it"},
    OptionSource{"attention-mask", "ours: sequences are full"},
    OptionSource{"data", "ours: a DataLoader's batches are on the host"},
    OptionSource{"init",
                 "ours: torch 2.6 utils/_device.py; with fsdp2 meta, as torchtitan train.py"},
    OptionSource{"experts",
                 "ours: the loop over experts; transformers 5.12 picks grouped_mm where it can, "
                 "which is not simulated"},
    OptionSource{"mode", "torch 2.6 nn/modules/module.py: training = True"},
    OptionSource{"optimizer",
                 "ours; transformers 5.12 training_args.py optim: adamw_torch before torch 2.8"},
    OptionSource{"optimizer-impl",
                 "torch 2.6 optim/optimizer.py _default_to_fused_or_foreach: foreach on CUDA"},
    OptionSource{"param-groups", "torch 2.6 optim/optimizer.py: one group of model.parameters()"},
    OptionSource{"master-weights", "torch 2.6 optim/adamw.py: it has none"},
    OptionSource{"optimizer-in-backward", "ours: optimizer.step() after the backward"},
    OptionSource{"grad-clip", "ours: a plain loop; transformers' Trainer clips at 1"},
    OptionSource{"grad-accum", "transformers 5.12 training_args.py gradient_accumulation_steps"},
    OptionSource{"steps", "ours: the first has no optimizer states, DDP's second new buckets"},
    OptionSource{"set-to-none", "torch 2.6 optim/optimizer.py zero_grad"},
    OptionSource{"zero-grad-at", "transformers 5.12 trainer.py: after optimizer.step()"},
    OptionSource{"empty-cache-every-step",
                 "transformers 5.12 training_args.py torch_empty_cache_steps: None"},
    OptionSource{"lora", "ours: the whole model is trained"},
    OptionSource{"lora-targets",
                 "peft utils/constants.py TRANSFORMERS_MODELS_TO_LORA_TARGET_MODULES_MAPPING",
                 "those of the model's family"},
    OptionSource{"lora-dropout", "peft tuners/lora/config.py lora_dropout"},
    OptionSource{"gpu", "ours: its kernels, with unlimited memory unless it is given"},
    OptionSource{"torch", "ours: the release the recordings are of"},
    OptionSource{"transformers", "ours: the release the recordings are of"},
    OptionSource{"dp", "Megatron-LM arguments.py: WORLD_SIZE 1"},
    OptionSource{"dp-kind", "ours: PyTorch's oldest"},
    OptionSource{"tp", "megatron-core 0.16.1 model_parallel_config.py"},
    OptionSource{"tp-kind", "ours: the paper's own code"},
    OptionSource{"sp", "megatron-core 0.16.1 model_parallel_config.py sequence_parallel"},
    OptionSource{"loss-parallel", "torch 2.6 distributed/tensor/parallel/loss.py: on demand"},
    OptionSource{"pp", "megatron-core 0.16.1 model_parallel_config.py"},
    OptionSource{"pp-schedule",
                 "megatron-core 0.16.1 pipeline_parallel/schedules.py get_forward_backward_func"},
    OptionSource{"pp-chunks", "ours: the fewest that interleave"},
    OptionSource{"cp", "megatron-core 0.16.1 model_parallel_config.py"},
    OptionSource{"cp-kind", "Megatron-LM arguments.py --cp-comm-type p2p"},
    OptionSource{"ep", "megatron-core 0.16.1 model_parallel_config.py"},
    OptionSource{"moe-capacity-factor", "megatron-core 0.16.1 transformer/transformer_config.py"},
    OptionSource{"moe-imbalance", "ours: an even load"},
    OptionSource{"offload", "deepspeed 0.16.4 runtime/zero/config.py offload_optimizer: None"},
    OptionSource{"bucket-cap-mb",
                 "torch 2.6 nn/parallel/distributed.py; first: c10d kDefaultFirstBucketBytes",
                 "25, and 1 for the first"},
    OptionSource{"gemini-min-chunk", "colossalai 0.3.0 booster/plugin/gemini_plugin.py"},
    OptionSource{"gemini-search-range", "colossalai 0.3.0 booster/plugin/gemini_plugin.py"},
    OptionSource{"gemini-search-step",
                 "colossalai 0.3.0 booster/plugin/gemini_plugin.py: no hidden_dim"},
    OptionSource{"gemini-gather-lone", "LLMem's fork, zero/gemini/chunk/search_utils.py"},
    OptionSource{"gemini-empty-cache", "LLMem's dp_real.py and tp_real.py"},
    OptionSource{"bucket-view", "torch 2.6 nn/parallel/distributed.py gradient_as_bucket_view"},
    OptionSource{"static-graph", "torch 2.6 nn/parallel/distributed.py static_graph"},
    OptionSource{"param-dtype", "torch 2.6 fsdp/_fully_shard/_fsdp_api.py MixedPrecisionPolicy",
                 "none, as they are"},
    OptionSource{"reduce-dtype", "torch 2.6 fsdp/_fully_shard/_fsdp_api.py MixedPrecisionPolicy",
                 "none, as they are"},
    OptionSource{"reshard",
                 "torch 2.6 fsdp/_fully_shard/_fully_shard.py reshard_after_forward=True"},
    OptionSource{"dp-replicate", "torch 2.6 fsdp/_fully_shard/_fully_shard.py: a 1D mesh"},
    OptionSource{"overlap-grad-reduce",
                 "megatron-core 0.16.1 distributed/distributed_data_parallel_config.py"},
    OptionSource{"overlap-param-gather",
                 "megatron-core 0.16.1 distributed/distributed_data_parallel_config.py"},
    OptionSource{"fp32-grads",
                 "Megatron-LM arguments.py validate_args: --bf16 sets it, --fp16 does not"},
    OptionSource{"wgrad-fusion", "Megatron-LM arguments.py --no-gradient-accumulation-fusion"},
    OptionSource{"ddp-bucket-size", "megatron-core 0.16.1 distributed/distributed_data_parallel.py",
                 "max(40000000, 1000000 dp) with overlap, else one bucket"},
    OptionSource{"vocab-divisor", "Megatron-LM arguments.py --make-vocab-size-divisible-by"},
    OptionSource{"apex-bucket-mb",
                 "apex contrib/optimizers/distributed_fused_adam.py bucket_cap_mb"},
    OptionSource{"apex-remainders",
                 "NeMo 1.20 megatron_base_model.py setup_optimization, of bf16 parameters; Apex: "
                 "false"},
    OptionSource{"apex-contiguous-grads",
                 "apex contrib/optimizers/distributed_fused_adam.py contiguous_grad_buffer"},
    OptionSource{"strategy", "torch 2.6 distributed/fsdp/_init_utils.py _init_core_state"},
    OptionSource{"use-orig-params",
                 "transformers 5.12 training_args.py fsdp_config; torch's class: false"},
    OptionSource{"limit-all-gathers", "torch 2.6 distributed/fsdp/fully_sharded_data_parallel.py"},
    OptionSource{"forward-prefetch", "torch 2.6 distributed/fsdp/fully_sharded_data_parallel.py"},
    OptionSource{"no-sync", "ours: no_sync() is called by scripts"},
    OptionSource{"backend", "torch 2.6 distributed/distributed_c10d.py: of cuda"},
    OptionSource{"event-lag", "ours: the GPU keeps up"},
    OptionSource{"event-queries", "ours: the GPU keeps up"},
    OptionSource{"overlap-comm", "deepspeed 0.16.4 runtime/zero/config.py overlap_comm_valid",
                 "true with zero3, else false"},
    OptionSource{"reduce-bucket-size", "deepspeed 0.16.4 runtime/zero/config.py"},
    OptionSource{"sub-group-size", "deepspeed 0.16.4 runtime/zero/config.py"},
    OptionSource{"prefetch-bucket-size", "deepspeed 0.16.4 runtime/zero/config.py"},
    OptionSource{"param-persistence-threshold", "deepspeed 0.16.4 runtime/zero/config.py"},
    OptionSource{"model-persistence-threshold",
                 "deepspeed 0.16.4 runtime/zero/config.py: sys.maxsize", "no limit"},
    OptionSource{"max-live-parameters", "deepspeed 0.16.4 runtime/zero/config.py"},
    OptionSource{"max-reuse-distance", "deepspeed 0.16.4 runtime/zero/config.py"},
    OptionSource{"contiguous-gradients", "deepspeed 0.16.4 runtime/zero/config.py"},
    OptionSource{"reduce-scatter", "deepspeed 0.16.4 runtime/zero/config.py"},
    OptionSource{"zero-init", "ours: deepspeed.zero.Init() is called by scripts"},
    OptionSource{"find-unused-parameters",
                 "torch 2.6 nn/parallel/distributed.py find_unused_parameters"},
    OptionSource{"ddp-comm-hook", "torch 2.6 nn/parallel/distributed.py: none is registered"},
    OptionSource{"powersgd-rank",
                 "torch 2.6 distributed/algorithms/ddp_comm_hooks/powerSGD_hook.py PowerSGDState"},
    OptionSource{"powersgd-start-iter",
                 "torch 2.6 distributed/algorithms/ddp_comm_hooks/powerSGD_hook.py PowerSGDState"},
    OptionSource{"powersgd-min-rate",
                 "torch 2.6 distributed/algorithms/ddp_comm_hooks/powerSGD_hook.py PowerSGDState"},
    OptionSource{"powersgd-error-feedback",
                 "torch 2.6 distributed/algorithms/ddp_comm_hooks/powerSGD_hook.py PowerSGDState"},
    OptionSource{"powersgd-warm-start",
                 "torch 2.6 distributed/algorithms/ddp_comm_hooks/powerSGD_hook.py PowerSGDState"},
    OptionSource{"round-robin-gradients", "deepspeed 0.16.4 runtime/zero/config.py"},
};

struct ProfileSource {
  Framework framework;
  std::string_view option;
  std::string_view source;
};

constexpr std::string_view kMegatron = "Megatron-LM arguments.py";
constexpr std::string_view kLlmem = "LLMem's dp_real.py";

constexpr std::array kProfileSources{
    ProfileSource{Framework::megatron, "model-code", "megatron-core 0.16.1 models/gpt"},
    ProfileSource{Framework::megatron, "precision",
                  "Megatron-LM arguments.py --bf16, as in recipes"},
    ProfileSource{Framework::megatron, "attention", "Megatron-LM arguments.py --attention-backend"},
    ProfileSource{Framework::megatron, "grad-clip", "Megatron-LM arguments.py --clip-grad"},
    ProfileSource{Framework::megatron, "zero-grad-at", "Megatron-LM training.py train_step"},
    ProfileSource{Framework::nemo, "model-code", "megatron-core 0.16.1 models/gpt"},
    ProfileSource{Framework::nemo, "precision", "NeMo 1.20 recipes; megatron_gpt_config.yaml: 16"},
    ProfileSource{Framework::nemo, "attention", kMegatron},
    ProfileSource{Framework::nemo, "grad-clip", "NeMo 1.20 conf/megatron_gpt_config.yaml"},
    ProfileSource{Framework::nemo, "zero-grad-at", "NeMo 1.20 megatron_gpt_model.py training_step"},
    ProfileSource{Framework::nemo, "dp-kind", "NeMo 1.20: optim.name distributed_fused_adam"},
    ProfileSource{Framework::nemo, "apex-contiguous-grads",
                  "NeMo 1.20 megatron_base_model.py setup_optimization"},
    ProfileSource{Framework::colossalai_gemini, "precision", kLlmem},
    ProfileSource{Framework::colossalai_gemini, "attention", "transformers of LLMem's time"},
    ProfileSource{Framework::colossalai_gemini, "checkpoint", kLlmem},
    ProfileSource{Framework::colossalai_gemini, "checkpoint-impl",
                  "torch 2.6 utils/checkpoint.py: True unless told"},
    ProfileSource{Framework::colossalai_gemini, "init", kLlmem},
    ProfileSource{Framework::colossalai_gemini, "attention-mask", kLlmem},
    ProfileSource{Framework::colossalai_gemini, "dp-kind", "colossalai 0.3.0 zero/gemini"},
    ProfileSource{Framework::colossalai_gemini, "tp-kind", "LLMem's tp_real.py"},
};

/// An option's word in a framework's profile; empty if plans have none.
std::string default_of(std::string_view option, Framework framework) {
  TrainingPlan plan;
  apply_framework(framework, plan);
  const SourceWords words = plan_words(plan);
  const auto found = std::ranges::find(words, option, &SourceWords::value_type::first);
  return found == words.end() ? "" : found->second;
}

std::string_view profile_source(Framework framework, std::string_view option) {
  const auto found = std::ranges::find_if(kProfileSources, [&](const ProfileSource& row) {
    return row.framework == framework && row.option == option;
  });
  return found == kProfileSources.end() ? "" : found->source;
}

}  // namespace

std::vector<std::string> default_lines(std::string_view option) {
  const auto row = std::ranges::find(kSources, option, &OptionSource::option);
  if (row == kSources.end()) {
    return {};
  }
  const std::string plain = default_of(option, Framework::torch);
  std::vector<std::string> lines{fmt::format(
      "default {} ({})", row->value.empty() ? plain : std::string(row->value), row->source)};
  for (const auto& [name, framework] : kFrameworks) {
    const std::string own = option == "framework" ? plain : default_of(option, framework);
    if (own != plain) {
      lines.push_back(fmt::format("{}: {} ({})", name, own, profile_source(framework, option)));
    }
  }
  return lines;
}

std::vector<std::string> uncited_profile_defaults() {
  std::vector<std::string> uncited;
  for (const auto& [name, framework] : kFrameworks) {
    for (const OptionSource& row : kSources) {
      const bool differs =
          row.option != "framework" &&
          default_of(row.option, framework) != default_of(row.option, Framework::torch);
      if (differs && profile_source(framework, row.option).empty()) {
        uncited.push_back(fmt::format("{} of {}", row.option, name));
      }
    }
  }
  return uncited;
}

}  // namespace highwater
