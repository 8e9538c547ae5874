// Rules of the optimizer and of what goes with it: clipping, fp32 copies, updates in the backward.
// Which implementation each optimizer has was tried on the real release (`fused` of PyTorch 2.6).
#include <array>

#include "workloads/plan/rules/tables.hpp"

namespace highwater::plan_rules {
namespace {

constexpr std::array kOptimizerRules{
    Rule{[](const Facts& f) {
           return f.plan->optimizer.impl == OptimizerImpl::fused &&
                  is_any(f.plan->optimizer.kind, {OptimizerKind::rmsprop, OptimizerKind::adagrad,
                                                  OptimizerKind::adafactor});
         },
         "optimizer-impl fused: torch has fused CUDA kernels for adam, adamw and sgd only; give "
         "foreach or loop"},
    Rule{[](const Facts& f) {
           return f.plan->optimizer.impl != OptimizerImpl::standard &&
                  f.plan->optimizer.kind == OptimizerKind::adamw_8bit;
         },
         "optimizer-impl: adamw-8bit (bitsandbytes) has one implementation; leave the option out"},
    Rule{[](const Facts& f) {
           return f.plan->optimizer.impl == OptimizerImpl::fused && torch_is_before(f, {2, 3}) &&
                  is_any(f.plan->optimizer.kind, {OptimizerKind::sgd, OptimizerKind::sgd_momentum});
         },
         "optimizer-impl fused: SGD has it from PyTorch 2.3 on; give foreach or a newer --torch"},
    Rule{[](const Facts& f) {
           return f.plan->optimizer.kind == OptimizerKind::adafactor && torch_is_before(f, {2, 5});
         },
         "optimizer adafactor: in PyTorch from 2.5 on; give a newer --torch"},
    Rule{[](const Facts& f) {
           return f.plan->optimizer.master_weights && f.plan->precision != Precision::bf16 &&
                  f.plan->precision != Precision::fp16;
         },
         "master-weights: with precision {precision} the parameters are fp32 themselves; give bf16 "
         "or fp16, or leave the option out"},
    Rule{[](const Facts& f) {
           return f.plan->optimizer.kind == OptimizerKind::none &&
                  (f.plan->optimizer.master_weights || f.plan->optimizer.in_backward);
         },
         "master-weights, optimizer-in-backward: there is no optimizer; choose one, or leave them "
         "out"},
    Rule{[](const Facts& f) { return f.plan->optimizer.in_backward && f.plan->grad_clip; },
         "optimizer-in-backward with grad-clip: the norm is known only when all gradients are; "
         "leave one of them out"},
    Rule{[](const Facts& f) { return f.plan->optimizer.in_backward && f.plan->grad_accum > 1; },
         "optimizer-in-backward with grad-accum {accum}: gradients are used up in each backward; "
         "give grad-accum 1"},
    Rule{[](const Facts& f) {
           return f.plan->optimizer.in_backward && f.plan->precision == Precision::amp_fp16;
         },
         "optimizer-in-backward with precision amp-fp16: GradScaler unscales after the backward; "
         "give amp-bf16"},
    Rule{[](const Facts& f) {
           return !f.plan->training && (f.plan->grad_clip || f.plan->optimizer.master_weights ||
                                        f.plan->optimizer.in_backward);
         },
         "mode eval: grad-clip, master-weights and optimizer-in-backward belong to training; leave "
         "them out"},
};

}  // namespace

std::span<const Rule> optimizer_rules() {
  return kOptimizerRules;
}

}  // namespace highwater::plan_rules
