#include "workloads/plan/options/implied_defaults.hpp"

#include <algorithm>
#include <array>

#include "traces/release.hpp"
#include "workloads/plan/context_parallel.hpp"
#include "workloads/plan/lora_targets.hpp"
#include "workloads/plan/model/other_model.hpp"
#include "workloads/plan/model/published_weights.hpp"
#include "workloads/plan/optimizer_table.hpp"
#include "workloads/plan/options/framework_profile.hpp"
#include "workloads/plan/rules/plan_problems.hpp"
#include "workloads/plan/tensor_grid.hpp"
#include "workloads/plan/torchtitan_release.hpp"
#include "workloads/plan/training_plan.hpp"

namespace highwater {
namespace {

/// Logits are dropped, or never made; stages of a pipeline pass on hidden states alone.
bool lacks_logits(const TrainingPlan& plan) {
  return fuses_head(plan.loss.kind) || plan.loss.kind == LossKind::chunked ||
         plan.parallel.pp > 1 || plan.model_code == ModelCode::megatron ||
         runs_ring_self_attention(plan.parallel);
}

/// Weights that accelerate leaves in 16 bits: all of them around quantised ones, the frozen ones
/// otherwise.
bool shards_narrow(const TrainingPlan& plan) {
  const bool is_narrow = plan.precision == Precision::bf16;
  return plan.precision == Precision::bf16_autocast ||
         (is_narrow && runs_trl(plan.framework)) ||  // bf16=True by itself
         (is_narrow && plan.framework != Framework::trainer && is_quantized(plan.quantization));
}

/// accelerate's plugin with mixed_precision bf16 keeps fp32 parameters and runs no autocast;
/// Trainer runs its own.
bool shards_by_accelerate(const TrainingPlan& plan) {
  const bool is_mixed =
      plan.precision == Precision::amp_bf16 || shards_narrow(plan) ||
      (plan.framework == Framework::accelerate_fsdp2 && plan.precision == Precision::fp32);
  const bool is_sharded = is_fsdp1(plan.parallel) || is_fsdp2(plan.parallel);
  return runs_accelerate(plan.framework) && is_sharded && is_mixed;
}

/// The same with mixed_precision fp16.
bool shards_fp16_by_accelerate(const TrainingPlan& plan) {
  const bool is_sharded = is_fsdp1(plan.parallel) || is_fsdp2(plan.parallel);
  return runs_accelerate(plan.framework) && is_sharded && plan.precision == Precision::amp_fp16;
}

bool takes_engine(const TrainingPlan& plan) {
  return plan.framework == Framework::megatron && plan.attention != Attention::eager;
}

bool runs_over_grid(const TrainingPlan& plan) {
  return splits_over_grid(plan.parallel);
}

bool materialises_scores(const TrainingPlan& plan) {
  return runs_over_grid(plan) || runs_ring_self_attention(plan.parallel);
}

bool has_unit_ends(const TrainingPlan& plan) {
  return runs_accelerate(plan.framework) && is_fsdp2(plan.parallel);
}

bool shards_by_torchtitan(const TrainingPlan& plan) {
  return plan.framework == Framework::torchtitan && applies_fully_shard(plan);
}

bool runs_published_torchtitan(const TrainingPlan& plan) {
  return plan.framework == Framework::torchtitan && !is_recent_torchtitan(plan);
}

bool runs_zero(const TrainingPlan& plan) {
  return plan.parallel.dp_kind != DataParallel::ddp && !is_fsdp1(plan.parallel) &&
         !is_fsdp2(plan.parallel);
}

bool takes_fused_adamw(const TrainingPlan& plan) {
  return plan.optimizer.kind == OptimizerKind::adamw && !is_default_later(plan, "optimizer-impl");
}

/// Parameters of one type, as the list of them says.
bool are_all(const TrainingPlan& plan, std::string_view dtype) {
  return lists_parameters(plan.model.config) &&
         std::ranges::all_of(plan.model.config.as<OtherConfig>().parameters,
                             [&](const ListedParameter& listed) { return listed.dtype == dtype; });
}

/// The weights of the checkpoint that config.json describes.
template <const auto& format>
bool publishes(const TrainingPlan& plan) {
  const auto weights = published_weights(plan.model);
  return weights && weights->format == format;
}

/// What is read as the checkpoint has it.
std::optional<PublishedWeights> published_4bit(const TrainingPlan& plan) {
  return is_4bit(plan.quantization) ? published_weights(plan.model) : std::nullopt;
}

bool has_nested_scales(const TrainingPlan& plan) {
  const auto weights = published_4bit(plan);
  return weights && weights->double_quant;
}

template <const auto& word>
bool is_stored_in(const TrainingPlan& plan) {
  const auto weights = published_4bit(plan);
  return weights && weights->storage == word;
}

template <const auto& word>
bool is_computed_in(const TrainingPlan& plan) {
  const auto weights = published_4bit(plan);
  return weights && weights->compute_dtype == word;
}

constexpr std::string_view kNf4 = "nf4";
constexpr std::string_view kFp4 = "fp4";
constexpr std::string_view kInt8 = "int8";
constexpr std::string_view kBf16 = "bf16";
constexpr std::string_view kFp16 = "fp16";
constexpr std::string_view kFp32 = "fp32";

constexpr std::array kImpliedDefaults{
    ImpliedDefault{"steps", [](const TrainingPlan& plan) { return plan.inputs.vary; }, "16"},
    // transformers 5.23, quantizers/auto.py: a checkpoint's own quantization_config. What follows
    // may ask about it.
    ImpliedDefault{"quantize", publishes<kNf4>, kNf4},
    ImpliedDefault{"quantize", publishes<kFp4>, kFp4},
    ImpliedDefault{"quantize", publishes<kInt8>, kInt8},
    ImpliedDefault{"double-quant", has_nested_scales, "true"},
    ImpliedDefault{"quant-storage", is_stored_in<kBf16>, kBf16},
    ImpliedDefault{"quant-storage", is_stored_in<kFp16>, kFp16},
    ImpliedDefault{"quant-storage", is_stored_in<kFp32>, kFp32},
    ImpliedDefault{"quant-compute-dtype", is_computed_in<kBf16>, kBf16},
    ImpliedDefault{"quant-compute-dtype", is_computed_in<kFp16>, kFp16},
    ImpliedDefault{"quant-compute-dtype", is_computed_in<kFp32>, kFp32},
    ImpliedDefault{"precision", [](const TrainingPlan& plan) { return are_all(plan, "bfloat16"); },
                   "bf16"},
    ImpliedDefault{"precision", [](const TrainingPlan& plan) { return are_all(plan, "float16"); },
                   "fp16"},
    ImpliedDefault{"loss",
                   [](const TrainingPlan& plan) {
                     return plan.framework == Framework::trl_sft && is_default_later(plan, "loss");
                   },
                   "hf"},
    ImpliedDefault{"keep-logits", lacks_logits, "false"},
    ImpliedDefault{"use-cache",
                   [](const TrainingPlan& plan) {
                     return plan.parallel.pp > 1 || plan.model_code == ModelCode::megatron;
                   },
                   "false"},
    // transformers 5.0, training_args.py: use_cache=False. Before, the model's own config decided.
    ImpliedDefault{"use-cache",
                   [](const TrainingPlan& plan) {
                     return plan.framework == Framework::trainer &&
                            release_of(plan.versions.transformers) < Release{5, 0};
                   },
                   "true"},
    // transformers 5.23, trainer.py: the model's own config loses use_cache; the decoder has a copy
    // (models/t5/modeling_t5.py T5ForConditionalGeneration).
    ImpliedDefault{"use-cache",
                   [](const TrainingPlan& plan) {
                     return runs_trainer(plan.framework) && has_own_targets(plan);
                   },
                   "true"},
    // transformers 5.23, training_args.py: default_optim. Other optimizers are torch's own.
    ImpliedDefault{"optimizer-impl",
                   [](const TrainingPlan& plan) {
                     return runs_trainer(plan.framework) && !takes_fused_adamw(plan);
                   },
                   "default"},
    // A framework's fused kernels are torch's, of the optimizers that have some.
    ImpliedDefault{"optimizer-impl",
                   [](const TrainingPlan& plan) { return !has_fused_kernel(plan.optimizer.kind); },
                   "default"},
    // accelerate 1.15, utils/dataclasses.py: FullyShardedDataParallelPlugin.set_mixed_precision.
    ImpliedDefault{"param-dtype", shards_by_accelerate, "bf16"},
    ImpliedDefault{"reduce-dtype", shards_by_accelerate, "bf16"},
    ImpliedDefault{"param-dtype", shards_fp16_by_accelerate, "fp16"},
    ImpliedDefault{"reduce-dtype", shards_fp16_by_accelerate, "fp16"},
    // accelerate 1.15, utils/dataclasses.py FullyShardedDataParallelPlugin; transformers 5.23,
    // training_args.py _process_fsdp_args: NO_PREFETCH.
    ImpliedDefault{"backward-prefetch",
                   [](const TrainingPlan& plan) {
                     return runs_accelerate(plan.framework) && is_fsdp1(plan.parallel);
                   },
                   "none"},
    // accelerate 1.15, accelerator.py prepare_model: what a script has made on the host is moved by
    // FSDP(device_id=...), unit by unit.
    ImpliedDefault{"init",
                   [](const TrainingPlan& plan) {
                     return runs_accelerate(plan.framework) && is_fsdp1(plan.parallel);
                   },
                   "cpu"},
    // accelerate 1.15, utils/fsdp_utils.py fsdp2_prepare_model.
    ImpliedDefault{"fsdp-units", has_unit_ends, "ends"},
    // transformers 5.23, distributed/fsdp.py update_fsdp_plugin_peft: PEFT's policy.
    ImpliedDefault{"fsdp-units",
                   [](const TrainingPlan& plan) {
                     return runs_accelerate(plan.framework) && is_fsdp1(plan.parallel) &&
                            plan.lora.rank > 0;
                   },
                   "adapters"},
    // trl 1.16, trainer/reward_trainer.py: AutoModelForSequenceClassification with one label.
    ImpliedDefault{"num-labels",
                   [](const TrainingPlan& plan) { return plan.framework == Framework::trl_reward; },
                   "1"},
    // trl 1.16, trainer/dpo_trainer.py, grpo_trainer.py: the model without its adapters answers.
    ImpliedDefault{"reference-model",
                   [](const TrainingPlan& plan) { return trains_adapters(plan); }, "false"},
    // torchtitan 0.3, distributed/fsdp.py apply_fsdp_to_decoder; config/configs.py:
    // mixed_precision_param, mixed_precision_reduce.
    ImpliedDefault{"fsdp-units", shards_by_torchtitan, "ends"},
    ImpliedDefault{"param-dtype", shards_by_torchtitan, "bf16"},
    ImpliedDefault{"reduce-dtype", shards_by_torchtitan, "fp32"},
    // transformers 5.23, trainer.py create_optimizer: adapters have neither norms nor biases.
    ImpliedDefault{"param-groups",
                   [](const TrainingPlan& plan) {
                     return runs_trainer(plan.framework) && trains_adapters(plan);
                   },
                   "1"},
    // transformers 5.23, trainer.py _build_accelerator_args: not model.is_gradient_checkpointing,
    // which is asked of models of transformers only, not of PEFT's.
    ImpliedDefault{"find-unused-parameters",
                   [](const TrainingPlan& plan) {
                     const bool is_checkpointed = plan.checkpoint.kind != CheckpointKind::none;
                     return runs_trainer(plan.framework) &&
                            ((is_checkpointed && plan.lora.rank == 0) || plan.parallel.dp == 1 ||
                             plan.parallel.dp_kind != DataParallel::ddp);
                   },
                   "false"},
    // train_colossalai.py: layers are made on the device and keep no keys and values; scores are
    // materialised (titans/layer/attention/gpt_attention.py).
    // train_ring_attention.py has no cache either.
    ImpliedDefault{"init", runs_over_grid, "device"},
    ImpliedDefault{"use-cache", materialises_scores, "false"},
    ImpliedDefault{"attention", materialises_scores, "eager"},
    // A framework's own implementation means nothing where nothing is checkpointed.
    ImpliedDefault{
        "checkpoint-impl",
        [](const TrainingPlan& plan) { return plan.checkpoint.kind == CheckpointKind::none; },
        "nonreentrant"},
    // peft 0.21, utils/other.py prepare_model_for_kbit_training: torch's own default, since it
    // names none; Trainer sets its own afterwards.
    ImpliedDefault{"checkpoint-impl",
                   [](const TrainingPlan& plan) {
                     return is_quantized(plan.quantization) && !builds_quantized(plan) &&
                            plan.quantization.prepares_training && !runs_trainer(plan.framework) &&
                            plan.checkpoint.kind == CheckpointKind::full;
                   },
                   "reentrant"},
    // trl 1.16, trainer/sft_trainer.py __init__: of PEFT's models under ZeRO-3, whatever is asked
    // for, in an argument that transformers reads until 5.22.
    ImpliedDefault{"checkpoint-impl",
                   [](const TrainingPlan& plan) {
                     return plan.framework == Framework::trl_sft && plan.lora.rank > 0 &&
                            plan.parallel.dp_kind == DataParallel::zero3 &&
                            plan.checkpoint.kind != CheckpointKind::none &&
                            release_of(plan.versions.transformers) < Release{5, 23};
                   },
                   "reentrant"},
    // trl 0.25, models/utils.py prepare_peft_model: weights that FSDP shards are left as they are.
    ImpliedDefault{"prepare-kbit",
                   [](const TrainingPlan& plan) {
                     return is_quantized(plan.quantization) &&
                            (is_fsdp1(plan.parallel) || is_fsdp2(plan.parallel));
                   },
                   "false"},
    // torchtitan 01/2025, parallelize_llama.py: stages would gather for every micro-batch.
    ImpliedDefault{
        "reshard",
        [](const TrainingPlan& plan) { return plan.parallel.pp > 1 && is_fsdp2(plan.parallel); },
        "never"},
    // transformers 5.23, quantizers/quantizer_bnb_4bit.py update_device_map: weights go to the
    // device as they are read.
    ImpliedDefault{"init",
                   [](const TrainingPlan& plan) {
                     return is_quantized(plan.quantization) && !builds_quantized(plan);
                   },
                   "cpu"},
    // torchao 0.11, dtypes/nf4tensor.py from_tensor: always.
    ImpliedDefault{"double-quant", builds_quantized, "true"},
    ImpliedDefault{"prepare-kbit", builds_quantized, "false"},
    // torchtune 0.6, training/_distributed.py shard_model: the same for the model as for its
    // blocks.
    ImpliedDefault{"reshard",
                   [](const TrainingPlan& plan) {
                     return plan.framework == Framework::torchtune && is_fsdp2(plan.parallel);
                   },
                   "all"},
    // Megatron-LM arguments.py --transformer-impl. Attention that is written out is simulated
    // without Transformer Engine.
    ImpliedDefault{"transformer-impl", takes_engine, "transformer-engine"},
    // transformers' own choice for classes without SDPA.
    ImpliedDefault{"attention", [](const TrainingPlan& plan) { return !supports_sdpa(plan); },
                   "eager"},
    // torchtitan 0.3, models/common/config_utils.py get_attention_config: sdpa is refused.
    ImpliedDefault{"attention", is_recent_torchtitan, "flex"},
    // torchtitan 0.3, config/configs.py: enable_sequence_parallel.
    ImpliedDefault{
        "sp",
        [](const TrainingPlan& plan) { return is_recent_torchtitan(plan) && plan.parallel.tp > 1; },
        "true"},
    // torchtitan 01/2025: train.py, models/llama/parallelize_llama.py apply_fsdp.
    ImpliedDefault{"loss", runs_published_torchtitan, "flat"},
    ImpliedDefault{"optimizer-impl", runs_published_torchtitan, "default"},
    ImpliedDefault{"fsdp-units",
                   [](const TrainingPlan& plan) {
                     return runs_published_torchtitan(plan) && is_fsdp2(plan.parallel);
                   },
                   "blocks"},
    ImpliedDefault{"reshard",
                   [](const TrainingPlan& plan) {
                     return runs_published_torchtitan(plan) && is_fsdp2(plan.parallel) &&
                            plan.parallel.pp == 1;
                   },
                   "but-last"},
    // transformers 5.12 modeling_utils.py get_correct_experts_implementation.
    ImpliedDefault{"experts",
                   [](const TrainingPlan& plan) {
                     return plan.model_code == ModelCode::hf && !lists_experts(plan) &&
                            has_field(plan.model.config, FieldRole::experts) &&
                            release_of(plan.versions.torch) >= Release{2, 9};
                   },
                   "grouped_mm"},
    // torchtitan's train.py: no rank ever holds the whole model. accelerate 1.15,
    // commands/config/cluster.py: cpu_ram_efficient_loading; transformers 5.23, training_args.py
    // _process_fsdp_args: without.
    ImpliedDefault{"init",
                   [](const TrainingPlan& plan) {
                     return (is_fsdp2(plan.parallel) && !runs_trainer(plan.framework) &&
                             (!is_quantized(plan.quantization) || builds_quantized(plan))) ||
                            shards_by_torchtitan(plan);
                   },
                   "meta"},
    // transformers 5.23, trainer.py _run_epoch, and accelerate 1.15, accelerator.py accumulate: the
    // micro-batches before the last run under no_sync(); DeepSpeed's engine counts them itself.
    ImpliedDefault{"no-sync",
                   [](const TrainingPlan& plan) {
                     return runs_accelerate(plan.framework) && plan.grad_accum > 1 &&
                            plan.parallel.dp * plan.parallel.cp > 1 && !runs_zero(plan);
                   },
                   "true"},
};

}  // namespace

std::span<const ImpliedDefault> implied_defaults() {
  return kImpliedDefaults;
}

}  // namespace highwater
