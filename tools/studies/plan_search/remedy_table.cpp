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

OptionWords deepspeed_offload(const TrainingPlan& plan) {
  return words_if(uses_deepspeed(plan) && plan.parallel.offload == Offload::none, "offload",
                  "optimizer");
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
    RemedyRow{time, "recomputes the forward",
              [](const TrainingPlan& plan) {
                return words_if(plan.training && plan.checkpoint.kind != CheckpointKind::full,
                                "checkpoint", "full");
              }},
    RemedyRow{time, "keeps optimizer states in host memory", deepspeed_offload},
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
                return words_if(steps(plan) && plan.lora.rank == 0, "lora", "16");
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
