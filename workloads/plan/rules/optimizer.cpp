// Rules of the optimizer and of what goes with it: clipping, fp32 copies, updates in the backward.
// Which implementation each optimizer has was tried on the real release (`fused` of PyTorch 2.6).
#include <array>

#include "workloads/plan/rules/parts.hpp"
#include "workloads/plan/rules/tables.hpp"
#include "workloads/plan/training_plan.hpp"

namespace highwater::plan_rules {
namespace {

// The optimizers of torch but Muon and LBFGS, and no optimizer.
bool has_implementations(OptimizerKind kind) {
  return library_of(kind) <= OptimizerLibrary::torch && kind != OptimizerKind::muon &&
         kind != OptimizerKind::lbfgs;
}

constexpr std::array kPartsOfClosures{
    parts::kInBackward, parts::kMasterWeights, parts::kAmpFp16,
    Part{[](const PlanFacts& f) { return f.plan->grad_accum > 1; }, "grad-accum {accum}"},
    Part{[](const PlanFacts& f) { return f.plan->optimizer.param_groups > 1; }, "param-groups 2"}};

constexpr std::array kPartsOfUpdates{parts::kInBackward, parts::kMasterWeights};

constexpr std::array kPartsOfTraining{parts::kGradClip, parts::kMasterWeights, parts::kInBackward};

constexpr std::array kOptimizerRules{
    Rule{[](const PlanFacts& f) {
           const OptimizerKind kind = f.plan->optimizer.kind;
           return f.plan->optimizer.impl == OptimizerImpl::fused &&
                  kind >= OptimizerKind::rmsprop && kind < OptimizerKind::muon;
         },
         "optimizer-impl fused: torch has fused CUDA kernels only for adam, adamw and sgd; use "
         "foreach or loop"},
    Rule{[](const PlanFacts& f) {
           return f.plan->optimizer.impl == OptimizerImpl::deepspeed &&
                  !is_any(f.plan->optimizer.kind, {OptimizerKind::adam, OptimizerKind::adamw});
         },
         "optimizer-impl deepspeed: FusedAdam is for adam and adamw; use another implementation"},
    Rule{[](const PlanFacts& f) {
           return f.plan->optimizer.impl != OptimizerImpl::standard &&
                  !has_implementations(f.plan->optimizer.kind);
         },
         "optimizer-impl with optimizer {optimizer}: it has one implementation only; omit "
         "optimizer-impl"},
    Rule{[](const PlanFacts& f) {
           return f.plan->precision == Precision::bf16 &&
                  is_any(f.plan->optimizer.kind,
                         {OptimizerKind::sgd_8bit, OptimizerKind::sgd_32bit,
                          OptimizerKind::rmsprop_8bit, OptimizerKind::rmsprop_32bit,
                          OptimizerKind::adagrad_8bit, OptimizerKind::adagrad_32bit,
                          OptimizerKind::lars_32bit});
         },
         "optimizer {optimizer} with precision bf16: SGD, RMSprop, Adagrad and LARS have no "
         "kernels for bf16 gradients; use amp-bf16 or another optimizer"},
    Rule{
        [](const PlanFacts& f) {
          return f.plan->optimizer.kind == OptimizerKind::muon && f.plan->optimizer.in_backward;
        },
        "optimizer muon with optimizer-in-backward: it stands for two optimizers, which step after "
        "the backward; omit one of them"},
    Rule{[](const PlanFacts& f) {
           return f.plan->optimizer.weight_decay > 0 && !decays_gradients(f.plan->optimizer.kind);
         },
         "weight-decay with optimizer {optimizer}: it takes no memory there, or there is none; "
         "omit it"},
    // torch/optim/lbfgs.py: one group of parameters; amp/grad_scaler.py: no closures.
    Rule{[](const PlanFacts& f) { return f.plan->optimizer.kind == OptimizerKind::lbfgs; },
         "optimizer lbfgs with {asked}: it runs forward and backward itself, several times a step, "
         "over one group of parameters; omit {them}, or use another optimizer",
         kPartsOfClosures},
    Rule{[](const PlanFacts& f) {
           return has_targets(f.plan->optimizer.kind) && f.plan->optimizer.master_weights;
         },
         "master-weights with optimizer {optimizer}: it chooses among the model's own parameters; "
         "omit one of them"},
    Rule{[](const PlanFacts& f) { return updates_by_hooks(f.plan->optimizer.kind); },
         "{asked} with optimizer {optimizer}: it hooks into the model's own parameters and updates "
         "them in the backward; omit {them}",
         kPartsOfUpdates},
    Rule{[](const PlanFacts& f) {
           const Parallelism& p = f.plan->parallel;
           return updates_by_hooks(f.plan->optimizer.kind) && is_ddp(p);
         },
         "optimizer {optimizer} with dp {dp}: each parameter would be updated before its gradient "
         "is summed over the ranks; use another optimizer"},
    Rule{[](const PlanFacts& f) {
           return updates_by_hooks(f.plan->optimizer.kind) &&
                  f.plan->precision == Precision::amp_fp16;
         },
         "optimizer {optimizer} with precision amp-fp16: GradScaler unscales only after the "
         "backward; use amp-bf16"},
    Rule{[](const PlanFacts& f) {
           return f.plan->optimizer.kind == OptimizerKind::muon && !runs_megatron(f) &&
                  torch_is_before(f, {2, 9});
         },
         "optimizer muon: PyTorch has it since 2.9; use a newer --torch"},
    // torch/optim/_muon.py: the constructor, or the step where it was made before the wrapping.
    Rule{[](const PlanFacts& f) {
           const Parallelism& p = f.plan->parallel;
           return f.plan->optimizer.kind == OptimizerKind::muon && is_fsdp1(p) &&
                  p.fsdp.strategy != ShardingStrategy::no_shard && p.dp > p.fsdp.replicas;
         },
         "optimizer muon with dp-kind fsdp1: shards of a FlatParameter are vectors, with "
         "use-orig-params as well, and PyTorch ends (\"Muon only supports 2D parameters\"); use "
         "dp-kind fsdp2, whose shards are matrices"},
    Rule{[](const PlanFacts& f) {
           return f.plan->optimizer.impl == OptimizerImpl::fused && torch_is_before(f, {2, 3}) &&
                  is_any(f.plan->optimizer.kind, {OptimizerKind::sgd, OptimizerKind::sgd_momentum});
         },
         "optimizer-impl fused: PyTorch has a fused SGD since 2.3; use foreach or a newer --torch"},
    Rule{[](const PlanFacts& f) {
           return f.plan->optimizer.kind == OptimizerKind::adafactor && torch_is_before(f, {2, 5});
         },
         "optimizer adafactor: PyTorch has it since 2.5; use a newer --torch"},
    Rule{[](const PlanFacts& f) {
           return f.plan->optimizer.master_weights && f.plan->precision != Precision::bf16 &&
                  f.plan->precision != Precision::fp16;
         },
         "master-weights: with precision {precision} the parameters are already fp32; use bf16 or "
         "fp16, or omit the option"},
    Rule{[](const PlanFacts& f) { return f.plan->optimizer.kind == OptimizerKind::none; },
         "{asked}: there is no optimizer; choose one, or omit {them}", kPartsOfUpdates},
    // Trainer's limit, which it has by default, finds no gradients then.
    Rule{[](const PlanFacts& f) {
           return f.plan->optimizer.in_backward && f.plan->grad_clip &&
                  !runs_trainer(f.plan->framework);
         },
         "optimizer-in-backward with grad-clip: the norm is known only once all gradients are; "
         "omit one of them"},
    Rule{[](const PlanFacts& f) { return f.plan->optimizer.in_backward && f.plan->grad_accum > 1; },
         "optimizer-in-backward with grad-accum {accum}: each backward consumes its gradients; "
         "use grad-accum 1"},
    Rule{[](const PlanFacts& f) {
           return f.plan->optimizer.in_backward && f.plan->precision == Precision::amp_fp16;
         },
         "optimizer-in-backward with precision amp-fp16: GradScaler unscales only after the "
         "backward; use amp-bf16"},
    Rule{[](const PlanFacts& f) { return !f.plan->training; },
         "{asked} with mode eval: it applies only to training; omit {them}", kPartsOfTraining},
};

}  // namespace

std::span<const Rule> optimizer_rules() {
  return kOptimizerRules;
}

}  // namespace highwater::plan_rules
