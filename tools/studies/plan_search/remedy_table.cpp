#include "tools/studies/plan_search/remedy_table.hpp"

#include <algorithm>
#include <array>
#include <string>

#include "workloads/plan/lora_targets.hpp"
#include "workloads/plan/offload.hpp"
#include "workloads/plan/options/words.hpp"
#include "workloads/plan/rules/plan_problems.hpp"
#include "workloads/plan/training_plan.hpp"

namespace highwater {
namespace {

using enum RemedyPrice;

bool steps(const TrainingPlan& plan) {
  return plan.training && plan.optimizer.kind != OptimizerKind::none;
}

bool is_adam(const TrainingPlan& plan) {
  return plan.optimizer.kind == OptimizerKind::adam || plan.optimizer.kind == OptimizerKind::adamw;
}

/// PyTorch has fused kernels for these; foreach, the default, allocates temporary lists.
bool could_be_fused(const TrainingPlan& plan) {
  const bool is_sgd = plan.optimizer.kind == OptimizerKind::sgd_momentum;
  return (is_adam(plan) || is_sgd) && plan.optimizer.impl != OptimizerImpl::fused &&
         plan.optimizer.impl != OptimizerImpl::loop &&
         plan.optimizer.impl != OptimizerImpl::deepspeed;
}

OptionWords words_if(bool applies, const char* option, const char* value) {
  return applies ? OptionWords{{option, value}} : OptionWords{};
}

// Megatron's parts of layers belong to its selective recomputation.
OptionWords fully_recomputed(const TrainingPlan& plan) {
  OptionWords words =
      words_if(plan.training && plan.checkpoint.kind != CheckpointKind::full, "checkpoint", "full");
  if (!words.empty() && plan.parallel.megatron.recompute_modules != kCoreAttention) {
    words.emplace_back("recompute-modules", "core-attn");
  }
  return words;
}

/// DeepSpeed shares what a stage so far keeps whole on each rank.
OptionWords shared_gradients(const TrainingPlan& plan) {
  const DataParallel kind = plan.parallel.dp_kind;
  const bool keeps_gradients = kind == DataParallel::zero0 || kind == DataParallel::zero1;
  return words_if(uses_deepspeed(plan) && keeps_gradients && plan.parallel.dp > 1, "dp-kind",
                  "zero2");
}

OptionWords shared_parameters(const TrainingPlan& plan) {
  return words_if(
      uses_deepspeed(plan) && plan.parallel.dp_kind != DataParallel::zero3 && plan.parallel.dp > 1,
      "dp-kind", "zero3");
}

/// A loop of one's own: what a program sets up by itself is not changed by an option.
bool is_own_loop(const TrainingPlan& plan) {
  return plan.model_code == ModelCode::hf &&
         (plan.framework == Framework::hf || plan.framework == Framework::torch);
}

OptionWords fully_sharded(const TrainingPlan& plan) {
  const Parallelism& p = plan.parallel;
  return words_if(
      is_own_loop(plan) && p.dp > 1 && p.dp_kind == DataParallel::ddp && p.tp == 1 && p.pp == 1,
      "dp-kind", "fsdp2");
}

OptionWords deepspeed_offload(const TrainingPlan& plan) {
  return words_if(uses_deepspeed(plan) && plan.parallel.offload == Offload::none, "offload",
                  "optimizer");
}

OptionWords deepspeed_offload_all(const TrainingPlan& plan) {
  const Offload offload = plan.parallel.offload;
  return words_if(uses_deepspeed(plan) && plan.parallel.dp_kind == DataParallel::zero3 &&
                      (offload == Offload::none || offload == Offload::optimizer),
                  "offload", "both");
}

/// DeepSpeed keeps fp32 copies itself, so that the model is in the type of computation.
OptionWords words_of_deepspeed(const TrainingPlan& plan, const char* stage, const char* offload) {
  OptionWords words{{"framework", "deepspeed"}, {"dp-kind", stage}, {"offload", offload}};
  if (is_autocast(plan.precision)) {
    const bool is_bf16 = compute_dtype(plan.precision) == DType::bf16;
    words.emplace_back("precision", is_bf16 ? "bf16" : "fp16");
  }
  if (plan.optimizer.impl != OptimizerImpl::standard) {
    words.emplace_back("optimizer-impl", "standard");
  }
  return words;
}

/// On one GPU nobody shares the states, but the host has room for them.
bool could_use_host(const TrainingPlan& plan) {
  return steps(plan) && is_own_loop(plan) && plan.parallel.gpus() == 1 && !trains_adapters(plan) &&
         plan.parallel.offload == Offload::none;
}

OptionWords optimizer_on_host(const TrainingPlan& plan) {
  return could_use_host(plan) ? words_of_deepspeed(plan, "zero2", "optimizer") : OptionWords{};
}

OptionWords all_on_host(const TrainingPlan& plan) {
  return could_use_host(plan) ? words_of_deepspeed(plan, "zero3", "both") : OptionWords{};
}

/// FSDP keeps all or nothing of its shards on the host (workloads/plan/offload.hpp).
OptionWords fsdp_offload(const TrainingPlan& plan) {
  const bool is_fsdp = is_fsdp1(plan.parallel) || is_fsdp2(plan.parallel);
  return words_if(is_fsdp && plan.parallel.offload == Offload::none, "offload", "params");
}

std::string adapter_rank(const TrainingPlan& plan) {
  return std::to_string(plan.lora.rank == 0 ? 16 : plan.lora.rank);
}

/// Where the generator has such weights for the plan, which are less than the plan has already.
OptionWords quantized(const TrainingPlan& plan, WeightFormat format) {
  TrainingPlan changed = plan;
  changed.lora.rank = std::max(plan.lora.rank, 1);
  changed.optimizer.param_groups = 1;
  changed.quantization.weights = format;
  if (builds_quantized(changed)) {
    changed.quantization.double_quant = is_4bit(changed.quantization);
    changed.quantization.prepares_training = false;
  } else {
    changed.init = ModelInit::cpu;
  }
  const bool was_8bit = is_quantized(plan.quantization) && !is_4bit(plan.quantization);
  const bool is_less =
      !is_quantized(plan.quantization) || (was_8bit && is_4bit(changed.quantization));
  if (!steps(plan) || !is_less || !plan_problems(changed).empty() ||
      !generator_gaps(changed).empty()) {
    return {};
  }
  OptionWords words{{"lora", adapter_rank(plan)},
                    {"quantize", std::string(word_of(kWeightFormats, format))}};
  if (is_4bit(changed.quantization)) {
    words.emplace_back("double-quant", "true");
  }
  return words;
}

constexpr std::array kRemedies{
    RemedyRow{nothing, "",
              [](const TrainingPlan& /*plan*/) {
                return words_if(true, "alloc-conf", "expandable_segments:True");
              }},
    RemedyRow{nothing, "",
              [](const TrainingPlan& plan) {
                return words_if(plan.attention == Attention::eager && supports_sdpa(plan),
                                "attention", "sdpa");
              }},
    RemedyRow{nothing, "",
              [](const TrainingPlan& plan) {
                return words_if(steps(plan) && could_be_fused(plan), "optimizer-impl", "fused");
              }},
    RemedyRow{nothing, "a fused head and loss, such as Liger's",
              [](const TrainingPlan& plan) {
                return words_if(plan.training && !fuses_head(plan.loss.kind) &&
                                    plan.loss.kind != LossKind::chunked,
                                "loss", "fused");
              }},
    RemedyRow{time, "smaller micro-batches, the same step",
              [](const TrainingPlan& plan) {
                return plan.batch > 1 && plan.training
                           ? OptionWords{{"batch", "1"},
                                         {"grad-accum",
                                          std::to_string(plan.batch * plan.grad_accum)}}
                           : OptionWords{};
              }},
    RemedyRow{time, "recomputes the forward", fully_recomputed},
    RemedyRow{time, "shares gradients among the ranks, too (ZeRO-2)", shared_gradients},
    RemedyRow{time, "shares parameters among the ranks, too, and gathers each layer (ZeRO-3)",
              shared_parameters},
    RemedyRow{time, "shares parameters, gradients and optimizer states, and gathers each layer",
              fully_sharded},
    RemedyRow{time, "keeps optimizer states in host memory", deepspeed_offload},
    RemedyRow{time, "keeps parameters and optimizer states in host memory", deepspeed_offload_all},
    RemedyRow{time, "keeps optimizer states in host memory, by DeepSpeed", optimizer_on_host},
    RemedyRow{time, "keeps parameters and optimizer states in host memory, by DeepSpeed",
              all_on_host},
    RemedyRow{time, "keeps parameters, gradients and optimizer states in host memory",
              fsdp_offload},
    RemedyRow{rounding, "computes in bfloat16",
              [](const TrainingPlan& plan) {
                return words_if(plan.precision == Precision::fp32, "precision", "amp-bf16");
              }},
    RemedyRow{rounding, "keeps optimizer states in 8 bits",
              [](const TrainingPlan& plan) {
                return words_if(steps(plan) && is_adam(plan), "optimizer", "adamw-8bit");
              }},
    RemedyRow{rounding, "keeps everything in bfloat16",
              [](const TrainingPlan& plan) {
                return words_if(plan.precision == Precision::fp32 || is_autocast(plan.precision),
                                "precision", "bf16");
              }},
    RemedyRow{training, "trains adapters only",
              [](const TrainingPlan& plan) {
                return words_if(steps(plan) && !trains_adapters(plan), "lora", "16");
              }},
    RemedyRow{training, "trains adapters beside weights in 8 bits",
              [](const TrainingPlan& plan) { return quantized(plan, WeightFormat::int8); }},
    RemedyRow{training, "trains adapters beside weights in 4 bits",
              [](const TrainingPlan& plan) { return quantized(plan, WeightFormat::nf4); }},
};

}  // namespace

std::span<const RemedyRow> remedy_table() {
  return kRemedies;
}

}  // namespace highwater
