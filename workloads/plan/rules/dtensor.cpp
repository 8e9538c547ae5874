// Rules of torch.distributed.tensor.parallel (PyTorch 2.6) over the usual plan for LLaMA-like
// models: what cannot be cut, and what operators of DTensors refuse.
#include <algorithm>
#include <array>

#include "workloads/plan/rules/tables.hpp"

namespace highwater::plan_rules {
namespace {

constexpr std::array kDTensorRules{
    Rule{[](const Facts& f) {
           return f.plan->parallel.loss_parallel && !is_dtensor_parallel(f.plan->parallel);
         },
         "loss-parallel: it computes the loss of DTensors; give --tp and --tp-kind dtensor too"},
    Rule{[](const Facts& f) {
           const Parallelism& p = f.plan->parallel;
           return is_dtensor_parallel(p) && f.shape.kv_heads > 0 && f.shape.kv_heads % p.tp != 0;
         },
         "tp {tp}: the key and value heads of {model} cannot be split evenly; give a divisor"},
    Rule{[](const Facts& f) {
           const Parallelism& p = f.plan->parallel;
           return is_dtensor_parallel(p) &&
                  std::ranges::any_of(f.plan->seq, [&](auto n) { return n % p.tp != 0; }) &&
                  p.sequence_parallel;
         },
         "sp with tp {tp}: sequences are cut into as many parts; give lengths that tp divides"},
    Rule{[](const Facts& f) {
           const Parallelism& p = f.plan->parallel;
           return is_dtensor_parallel(p) && p.sequence_parallel && !has_plain_names(*f.plan);
         },
         "sp with tp-kind dtensor: transformers passes attention its input by keyword, which "
         "PrepareModuleInput does not see; give --model-code torchtitan"},
    Rule{[](const Facts& f) {
           const Parallelism& p = f.plan->parallel;
           const bool mixes = f.plan->grad_clip || f.plan->precision == Precision::amp_fp16 ||
                              !f.plan->set_to_none;
           return is_dtensor_parallel(p) && !p.sequence_parallel && mixes;
         },
         "grad-clip, precision amp-fp16, set-to-none false with tp-kind dtensor: norms are no "
         "DTensors then, and PyTorch's multi-tensor operators take no mixture; give --sp too"},
    Rule{[](const Facts& f) {
           const Parallelism& p = f.plan->parallel;
           return is_dtensor_parallel(p) && !p.sequence_parallel &&
                  f.plan->optimizer.param_groups != 1;
         },
         "param-groups 2 with tp-kind dtensor: without --sp norms are no DTensors and are a group "
         "of their own already; give 1"},
    Rule{[](const Facts& f) {
           const Parallelism& p = f.plan->parallel;
           return is_dtensor_parallel(p) && f.plan->optimizer.impl == OptimizerImpl::fused &&
                  f.plan->optimizer.kind != OptimizerKind::adam &&
                  f.plan->optimizer.kind != OptimizerKind::adamw;
         },
         "optimizer-impl fused with tp-kind dtensor: of the fused kernels only Adam's and AdamW's "
         "work on DTensors; give foreach"},
    Rule{[](const Facts& f) {
           const Parallelism& p = f.plan->parallel;
           return is_dtensor_parallel(p) && is_fsdp2(p) && f.shape.vocab % (p.tp * p.dp) != 0;
         },
         "tp with dp-kind fsdp2: fully_shard cuts the rows of {model}'s table, which tp has cut, "
         "into even parts only; give sizes whose product divides the vocabulary"},
    Rule{[](const Facts& f) {
           const Optimizer& o = f.plan->optimizer;
           const bool has_no_strategy =
               o.kind == OptimizerKind::adafactor || o.kind == OptimizerKind::adamw_8bit;
           return is_dtensor_parallel(f.plan->parallel) && has_no_strategy;
         },
         "optimizer adafactor, adamw-8bit with tp-kind dtensor: it cannot work on DTensors; give "
         "another"},
};

}  // namespace

std::span<const Rule> dtensor_rules() {
  return kDTensorRules;
}

}  // namespace highwater::plan_rules
