// Rules of PyTorch 2.6's two FSDPs: fully_shard (fsdp2) and FullyShardedDataParallel (fsdp1), their
// options without them, and what flat parameters and groups of one type refuse.
#include <array>

#include "workloads/plan/rules/tables.hpp"

namespace highwater::plan_rules {
namespace {

bool has_pure_low_precision(const TrainingPlan& plan) {
  return plan.precision == Precision::bf16 || plan.precision == Precision::fp16;
}

constexpr std::array kFsdpRules{
    Rule{[](const Facts& f) {
           const Parallelism& p = f.plan->parallel;
           return !is_sharded(p) && p.fsdp != Fsdp{};
         },
         "param-dtype, reduce-dtype, reshard, dp-replicate, strategy, use-orig-params, "
         "limit-all-gathers, forward-prefetch: these are options of FSDP; give --dp with dp-kind "
         "fsdp1 or fsdp2 too"},
    Rule{[](const Facts& f) {
           const Parallelism& p = f.plan->parallel;
           return is_sharded(p) && (p.fsdp.replicas < 1 || p.dp % p.fsdp.replicas != 0);
         },
         "dp-replicate {replicas}: the {dp} data-parallel ranks cannot be split evenly into so "
         "many copies; give a divisor"},
    Rule{[](const Facts& f) {
           return is_fsdp2(f.plan->parallel) && torch_is_before(f, {2, 4});
         },
         "dp-kind fsdp2: fully_shard is in PyTorch from 2.4 on; give a newer --torch, or fsdp1"},
    Rule{[](const Facts& f) {
           return is_fsdp2(f.plan->parallel) && f.plan->lora.rank > 0 &&
                  has_pure_low_precision(*f.plan);
         },
         "lora with dp-kind fsdp2 and precision {precision}: PEFT makes adapters in fp32, and "
         "fully_shard wants one type in a group; give precision fp32 with param-dtype bf16"},
    Rule{[](const Facts& f) {
           return is_fsdp2(f.plan->parallel) && f.plan->optimizer.impl == OptimizerImpl::fused &&
                  is_any(f.plan->optimizer.kind, {OptimizerKind::sgd, OptimizerKind::sgd_momentum});
         },
         "optimizer-impl fused with dp-kind fsdp2: SGD's fused kernel does not know DTensors; give "
         "foreach"},
    Rule{[](const Facts& f) {
           return is_fsdp2(f.plan->parallel) && f.plan->optimizer.impl == OptimizerImpl::foreach &&
                  f.plan->optimizer.kind == OptimizerKind::adafactor;
         },
         "optimizer-impl foreach with adafactor and dp-kind fsdp2: it fails on DTensors; give loop "
         "or leave the option out"},
};

constexpr std::array kFsdp1Rules{
    Rule{[](const Facts& f) {
           const Parallelism& p = f.plan->parallel;
           const bool is_hybrid = p.fsdp.strategy == ShardingStrategy::hybrid_shard;
           return is_fsdp1(p) && is_hybrid && (p.fsdp.replicas < 2 || p.fsdp.replicas >= p.dp);
         },
         "strategy hybrid_shard: there are several copies, each on several ranks; give "
         "dp-replicate a number above 1 and below dp"},
    Rule{[](const Facts& f) {
           const Parallelism& p = f.plan->parallel;
           const bool is_hybrid = p.fsdp.strategy == ShardingStrategy::hybrid_shard;
           return is_fsdp1(p) && !is_hybrid && p.fsdp.replicas > 1;
         },
         "dp-replicate with dp-kind fsdp1: only hybrid_shard has copies; give --strategy "
         "hybrid_shard too"},
    Rule{[](const Facts& f) {
           return is_fsdp1(f.plan->parallel) && f.plan->parallel.fsdp.reshard != Reshard::always;
         },
         "reshard with dp-kind fsdp1: that is fully_shard's option; give --strategy shard_grad_op "
         "instead"},
    Rule{[](const Facts& f) {
           const Parallelism& p = f.plan->parallel;
           return is_sharded(p) && !is_fsdp1(p) &&
                  (p.fsdp.strategy != ShardingStrategy::full_shard || !p.fsdp.use_orig_params ||
                   !p.fsdp.limit_all_gathers || p.fsdp.forward_prefetch);
         },
         "strategy, use-orig-params, limit-all-gathers, forward-prefetch: these are options of "
         "FSDP1; give dp-kind fsdp1"},
    Rule{[](const Facts& f) {
           return is_fsdp1(f.plan->parallel) && f.plan->lora.rank > 0 &&
                  !f.plan->parallel.fsdp.use_orig_params;
         },
         "lora with use-orig-params false: a flat parameter is trained as a whole or not at all; "
         "give true"},
    Rule{[](const Facts& f) {
           return is_fsdp1(f.plan->parallel) && f.plan->lora.rank > 0 &&
                  has_pure_low_precision(*f.plan);
         },
         "lora with dp-kind fsdp1 and precision {precision}: PEFT makes adapters in fp32, and a "
         "flat parameter has one type; give precision fp32 with param-dtype bf16"},
    Rule{[](const Facts& f) {
           return is_fsdp1(f.plan->parallel) && f.plan->init == ModelInit::meta;
         },
         "init meta with dp-kind fsdp1: FSDP makes parameters with reset_parameters(), which "
         "classes of transformers lack; give another init"},
    Rule{[](const Facts& f) { return is_fsdp1(f.plan->parallel) && f.plan->optimizer.in_backward; },
         "optimizer-in-backward with dp-kind fsdp1: parameters have their gradients only after "
         "the reduction; leave one of them out"},
};

}  // namespace

std::span<const Rule> fsdp_rules() {
  return kFsdpRules;
}

std::span<const Rule> fsdp1_rules() {
  return kFsdp1Rules;
}

}  // namespace highwater::plan_rules
