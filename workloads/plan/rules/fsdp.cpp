// Rules of PyTorch 2.6's two FSDPs: fully_shard (fsdp2) and FullyShardedDataParallel (fsdp1), their
// options given without them, and what flat parameters and single-dtype groups refuse.
#include <array>

#include "workloads/plan/lora_targets.hpp"
#include "workloads/plan/rules/option_parts.hpp"
#include "workloads/plan/rules/tables.hpp"
#include "workloads/plan/torchtitan_release.hpp"
#include "workloads/plan/training_plan.hpp"

namespace highwater::plan_rules {
namespace {

bool has_pure_low_precision(const TrainingPlan& plan) {
  return model_dtype(plan.precision) != DType::fp32;
}

constexpr std::array kFsdpRules{
    Rule{[](const PlanFacts& f) {
           const Parallelism& p = f.plan->parallel;
           return !is_sharded(p) && p.fsdp != Fsdp{} && !is_recent_torchtitan(*f.plan);
         },
         "{asked}: only FSDP has this; add --dp with dp-kind fsdp1 or fsdp2, or omit {them}",
         parts::kFsdpOptions},
    Rule{[](const PlanFacts& f) {
           const Parallelism& p = f.plan->parallel;
           return is_sharded(p) && (p.fsdp.replicas < 1 || p.dp % p.fsdp.replicas != 0);
         },
         "dp-replicate {replicas}: the {dp} data-parallel ranks cannot be split evenly into that "
         "many replicas; use a divisor of {dp}"},
    Rule{[](const PlanFacts& f) {
           return is_fsdp2(f.plan->parallel) && torch_is_before(f, {2, 4});
         },
         "dp-kind fsdp2: PyTorch has fully_shard since 2.4; use a newer --torch, or fsdp1"},
    // torch/distributed/fsdp/_fully_shard/_fsdp_param_group.py _init_mp_dtypes: 2.8 asks it of the
    // trained parameters only.
    Rule{[](const PlanFacts& f) {
           return is_fsdp2(f.plan->parallel) && f.plan->lora.rank > 0 &&
                  !builds_adapters(*f.plan) && has_pure_low_precision(*f.plan) &&
                  !is_quantized(f.plan->quantization) && torch_is_before(f, {2, 8});
         },
         "lora with dp-kind fsdp2 and precision {precision}: PEFT creates adapters in fp32, and "
         "before PyTorch 2.8 fully_shard needs one dtype of a group's parameters; use precision "
         "fp32 with param-dtype bf16, or a newer --torch"},
    Rule{[](const PlanFacts& f) {
           return is_fsdp2(f.plan->parallel) && f.plan->optimizer.impl == OptimizerImpl::fused &&
                  is_any(f.plan->optimizer.kind, {OptimizerKind::sgd, OptimizerKind::sgd_momentum});
         },
         "optimizer-impl fused with dp-kind fsdp2: SGD's fused kernel does not support DTensors; "
         "use foreach"},
    Rule{[](const PlanFacts& f) {
           return is_fsdp2(f.plan->parallel) && f.plan->optimizer.impl == OptimizerImpl::foreach &&
                  f.plan->optimizer.kind == OptimizerKind::adafactor;
         },
         "optimizer-impl foreach with adafactor and dp-kind fsdp2: it fails on DTensors; use loop"},
};

constexpr std::array kFsdp1Rules{
    Rule{[](const PlanFacts& f) {
           const Parallelism& p = f.plan->parallel;
           const bool is_hybrid = p.fsdp.strategy == ShardingStrategy::hybrid_shard;
           return is_fsdp1(p) && is_hybrid && (p.fsdp.replicas < 2 || p.fsdp.replicas >= p.dp);
         },
         "strategy hybrid_shard: it needs several replicas, each spread over several ranks; set "
         "dp-replicate above 1 and below dp"},
    Rule{[](const PlanFacts& f) {
           const Parallelism& p = f.plan->parallel;
           const bool is_hybrid = p.fsdp.strategy == ShardingStrategy::hybrid_shard;
           return is_fsdp1(p) && !is_hybrid && p.fsdp.replicas > 1;
         },
         "dp-replicate with dp-kind fsdp1: only hybrid_shard keeps replicas; add --strategy "
         "hybrid_shard"},
    Rule{[](const PlanFacts& f) {
           return is_fsdp1(f.plan->parallel) && f.plan->parallel.fsdp.reshard != Reshard::always;
         },
         "reshard with dp-kind fsdp1: this is an option of fully_shard; use --strategy "
         "shard_grad_op instead"},
    Rule{[](const PlanFacts& f) {
           return runs_accelerate(f.plan->framework) &&
                  f.plan->parallel.fsdp.reshard == Reshard::all;
         },
         "reshard all: accelerate never frees the last norm, the head and the model's own unit; "
         "use reshard always"},
    Rule{[](const PlanFacts& f) {
           return is_fsdp1(f.plan->parallel) && f.plan->parallel.fsdp.units == FsdpUnits::ends;
         },
         "fsdp-units ends with dp-kind fsdp1: these are units of fully_shard; omit it, or use "
         "dp-kind fsdp2"},
    Rule{[](const PlanFacts& f) {
           return f.plan->parallel.fsdp.units == FsdpUnits::adapters &&
                  (!is_fsdp1(f.plan->parallel) || f.plan->lora.rank == 0);
         },
         "fsdp-units adapters: PEFT's policy for FSDP1 makes a unit of each adapter layer; use "
         "--dp-kind fsdp1 with --lora, or omit it"},
    Rule{[](const PlanFacts& f) {
           const Parallelism& p = f.plan->parallel;
           return is_sharded(p) && !is_fsdp1(p) &&
                  (p.fsdp.strategy != ShardingStrategy::full_shard || !p.fsdp.use_orig_params ||
                   !p.fsdp.limit_all_gathers || p.fsdp.forward_prefetch ||
                   p.fsdp.backward_prefetch != BackwardPrefetch::pre);
         },
         "{asked} with dp-kind {dp_kind}: only FSDP1 has this; use dp-kind fsdp1, or omit {them}",
         parts::kFsdp1Options},
    Rule{[](const PlanFacts& f) {
           return is_fsdp1(f.plan->parallel) && f.plan->lora.rank > 0 &&
                  f.plan->parallel.fsdp.units != FsdpUnits::adapters &&
                  !f.plan->parallel.fsdp.use_orig_params;
         },
         "lora with use-orig-params false: a flat parameter is trained as a whole or not at all; "
         "set it to true"},
    Rule{[](const PlanFacts& f) {
           return is_fsdp1(f.plan->parallel) && f.plan->lora.rank > 0 &&
                  f.plan->parallel.fsdp.units != FsdpUnits::adapters &&
                  has_pure_low_precision(*f.plan);
         },
         "lora with dp-kind fsdp1 and precision {precision}: PEFT creates adapters in fp32, and a "
         "flat parameter has one dtype; use precision fp32 with param-dtype bf16, or --fsdp-units "
         "adapters"},
    Rule{[](const PlanFacts& f) {
           return is_fsdp1(f.plan->parallel) && f.plan->init == ModelInit::meta;
         },
         "init meta with dp-kind fsdp1: FSDP creates parameters with reset_parameters(), which "
         "transformers classes lack; use another init"},
    Rule{[](const PlanFacts& f) {
           return is_fsdp1(f.plan->parallel) && f.plan->optimizer.in_backward;
         },
         "optimizer-in-backward with dp-kind fsdp1: gradients reach the parameters only after the "
         "reduction; omit one of them"},
};

}  // namespace

std::span<const Rule> fsdp_rules() {
  return kFsdpRules;
}

std::span<const Rule> fsdp1_rules() {
  return kFsdp1Rules;
}

}  // namespace highwater::plan_rules
