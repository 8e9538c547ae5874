// Rules of torch.distributed.tensor.parallel (PyTorch 2.6) with the usual plan for LLaMA-like
// models: what cannot be split, and what DTensor operators refuse.
#include <algorithm>
#include <array>

#include "workloads/plan/rules/parts.hpp"
#include "workloads/plan/rules/tables.hpp"
#include "workloads/plan/training_plan.hpp"

namespace highwater::plan_rules {
namespace {

constexpr std::array kPartsOfNorms{parts::kGradClip, parts::kAmpFp16, parts::kKeepsGradients};

constexpr std::array kDTensorRules{
    Rule{[](const PlanFacts& f) {
           return f.plan->parallel.loss_parallel && !is_dtensor_parallel(f.plan->parallel);
         },
         "loss-parallel: it computes the loss from DTensors; add --tp and --tp-kind dtensor"},
    Rule{[](const PlanFacts& f) {
           const Parallelism& p = f.plan->parallel;
           return is_dtensor_parallel(p) && f.shape.kv_heads > 0 && f.shape.kv_heads % p.tp != 0;
         },
         "tp {tp}: the key and value heads of {model} cannot be split evenly; use a divisor of "
         "their number"},
    Rule{[](const PlanFacts& f) {
           const Parallelism& p = f.plan->parallel;
           return is_dtensor_parallel(p) &&
                  std::ranges::any_of(f.plan->seq, [&](auto n) { return n % p.tp != 0; }) &&
                  p.sequence_parallel;
         },
         "sp with tp {tp}: each sequence is cut into {tp} parts; use lengths that are multiples "
         "of tp"},
    Rule{[](const PlanFacts& f) {
           const Parallelism& p = f.plan->parallel;
           return is_dtensor_parallel(p) && p.sequence_parallel && !has_torchtitan_names(*f.plan);
         },
         "sp with tp-kind dtensor: transformers passes attention its input by keyword, which "
         "PrepareModuleInput ignores; use --model-code torchtitan"},
    Rule{
        [](const PlanFacts& f) {
          const Parallelism& p = f.plan->parallel;
          return is_dtensor_parallel(p) && !p.sequence_parallel;
        },
        "{asked} with tp-kind dtensor: without --sp the norms are not split over tp, and PyTorch's "
        "multi-tensor operators cannot mix the two; add --sp",
        kPartsOfNorms},
    Rule{[](const PlanFacts& f) {
           const Parallelism& p = f.plan->parallel;
           return is_dtensor_parallel(p) && !p.sequence_parallel &&
                  f.plan->optimizer.param_groups != 1;
         },
         "param-groups 2 with tp-kind dtensor: without --sp the norms are not DTensors and "
         "already form their own group; use 1"},
    Rule{[](const PlanFacts& f) {
           const Parallelism& p = f.plan->parallel;
           return is_dtensor_parallel(p) && f.plan->optimizer.impl == OptimizerImpl::fused &&
                  f.plan->optimizer.kind != OptimizerKind::adam &&
                  f.plan->optimizer.kind != OptimizerKind::adamw;
         },
         "optimizer-impl fused with tp-kind dtensor: only the fused kernels of Adam and AdamW "
         "work on DTensors; use foreach"},
    Rule{[](const PlanFacts& f) {
           const Parallelism& p = f.plan->parallel;
           return is_dtensor_parallel(p) && is_fsdp2(p) && f.shape.vocab % (p.tp * p.dp) != 0;
         },
         "tp with dp-kind fsdp2: tp already splits the rows of {model}'s embedding table, and "
         "fully_shard can split them further only evenly; use sizes whose product divides the "
         "vocabulary"},
    Rule{[](const PlanFacts& f) {
           const OptimizerKind kind = f.plan->optimizer.kind;
           const bool has_no_strategy = kind == OptimizerKind::adafactor ||
                                        library_of(kind) == OptimizerLibrary::bitsandbytes;
           return is_dtensor_parallel(f.plan->parallel) && has_no_strategy;
         },
         "optimizer {optimizer} with tp-kind dtensor: it does not support DTensors; use another"},
};

}  // namespace

std::span<const Rule> dtensor_rules() {
  return kDTensorRules;
}

}  // namespace highwater::plan_rules
