#include "tools/studies/plan_search/training_kind.hpp"

#include <algorithm>
#include <array>

#include "workloads/plan/training_plan.hpp"

namespace highwater {
namespace {

bool is_half(const TrainingPlan& plan) {
  return compute_dtype(plan.precision) != DType::fp32;
}

bool always(const TrainingPlan& /*plan*/, WideStates /*states*/) {
  return true;
}

/// The element type of computation, without autocast.
Precision plain(Precision precision) {
  return compute_dtype(precision) == DType::bf16   ? Precision::bf16
         : compute_dtype(precision) == DType::fp16 ? Precision::fp16
                                                   : Precision::fp32;
}

Precision autocast(Precision precision) {
  return compute_dtype(precision) == DType::bf16 ? Precision::amp_bf16 : Precision::amp_fp16;
}

/// fp32 shards, gathered in 16 bits and their gradients summed in fp32: torchtitan's
/// mixed_precision_param and mixed_precision_reduce.
void gather_in_half(TrainingPlan& plan) {
  Fsdp& fsdp = plan.parallel.fsdp;
  fsdp.param_dtype = fsdp.param_dtype.value_or(compute_dtype(plan.precision));
  fsdp.reduce_dtype = fsdp.reduce_dtype.value_or(DType::fp32);
  plan.precision = Precision::fp32;
}

/// Frozen weights are never rounded again, so that 16 bits of them give up nothing; PEFT makes
/// adapters in fp32.
void keep_wide_states(TrainingPlan& plan, WideStates states) {
  if (!is_half(plan)) {
    return;
  }
  if (trains_adapters(plan) && states == WideStates::autocast) {
    states = WideStates::engine;
  }
  switch (states) {
    case WideStates::autocast:
      plan.precision = autocast(plan.precision);
      break;
    case WideStates::sharded:
      gather_in_half(plan);
      break;
    case WideStates::engine:
      plan.precision = plain(plan.precision);
      break;
  }
}

/// bitsandbytes' moments. A program's own optimizer has its own.
bool could_have_8bit_moments(const TrainingPlan& plan, WideStates states) {
  const bool is_adam =
      plan.optimizer.kind == OptimizerKind::adam || plan.optimizer.kind == OptimizerKind::adamw;
  return is_adam && plan.training && !trains_adapters(plan) && states != WideStates::engine &&
         !has_torchtitan_names(plan);
}

void keep_8bit_moments(TrainingPlan& plan, WideStates states) {
  keep_wide_states(plan, states);
  plan.optimizer.kind = OptimizerKind::adamw_8bit;
  plan.optimizer.impl = OptimizerImpl::standard;
}

bool could_be_narrow(const TrainingPlan& plan, WideStates states) {
  return is_half(plan) && states != WideStates::engine && !plan.optimizer.master_weights;
}

void keep_narrow_states(TrainingPlan& plan, WideStates /*states*/) {
  plan.precision = plain(plan.precision);
}

bool could_adapt(const TrainingPlan& plan, WideStates states) {
  return !trains_adapters(plan) && states != WideStates::engine && plan.training &&
         !has_torchtitan_names(plan);  // PEFT's targets are transformers' names
}

/// PEFT makes adapters in fp32; fully_shard and FSDP1 want one type in a group.
void train_adapters(TrainingPlan& plan, WideStates states) {
  plan.lora.rank = kAdapterRank;
  if (is_half(plan) && states == WideStates::sharded) {
    gather_in_half(plan);
  } else {
    plan.precision = plain(plan.precision);
  }
}

bool could_adapt_narrow(const TrainingPlan& plan, WideStates states) {
  return could_adapt(plan, states) && !is_half(plan);
}

/// Frozen weights of a plan in fp32 in bfloat16: its range is that of fp32.
void train_adapters_of_narrow(TrainingPlan& plan, WideStates states) {
  plan.precision = Precision::bf16;
  train_adapters(plan, states);
}

/// bitsandbytes' weights are simulated on one GPU.
bool could_quantize(const TrainingPlan& plan, WideStates states) {
  return could_adapt(plan, states) && !is_quantized(plan.quantization) && plan.parallel.gpus() == 1;
}

/// As PEFT's guide to quantisation prepares them.
template <WeightFormat format>
void train_beside(TrainingPlan& plan, WideStates states) {
  plan.precision = is_half(plan) ? plan.precision : Precision::bf16;
  train_adapters(plan, states);
  plan.optimizer.param_groups = 1;
  plan.init = ModelInit::cpu;
  plan.quantization.weights = format;
  plan.quantization.double_quant = is_4bit(plan.quantization);
  plan.checkpoint.reentrant = plan.quantization.prepares_training && !runs_trainer(plan.framework);
}

constexpr std::array kKinds{
    TrainingKind{"full", "fp32", "", always, keep_wide_states},
    TrainingKind{"8-bit-moments", "fp32, 8-bit moments",
                 "Adam's moments are kept in 8 bits, in blocks with a scale each",
                 could_have_8bit_moments, keep_8bit_moments},
    TrainingKind{"16-bit", "16 bit",
                 "parameters and optimizer states are rounded to 16 bits at every step",
                 could_be_narrow, keep_narrow_states},
    TrainingKind{"lora", "LoRA", "only adapters are trained", could_adapt, train_adapters},
    TrainingKind{"lora-16-bit", "LoRA, 16-bit weights",
                 "only adapters are trained, beside weights in 16 bits", could_adapt_narrow,
                 train_adapters_of_narrow},
    TrainingKind{"8-bit", "LoRA, 8-bit weights",
                 "only adapters are trained, beside weights in 8 bits", could_quantize,
                 train_beside<WeightFormat::int8>},
    TrainingKind{"4-bit", "LoRA, 4-bit weights",
                 "only adapters are trained, beside weights in 4 bits", could_quantize,
                 train_beside<WeightFormat::nf4>},
};

}  // namespace

std::span<const TrainingKind> training_kinds() {
  return kKinds;
}

std::optional<std::size_t> find_training_kind(std::string_view word) {
  const auto found = std::ranges::find(kKinds, word, &TrainingKind::word);
  return found == kKinds.end() ? std::nullopt
                               : std::optional(static_cast<std::size_t>(found - kKinds.begin()));
}

}  // namespace highwater
