// DistributedDataParallel's communication hooks.
#include <array>

#include "workloads/plan/rules/option_parts.hpp"
#include "workloads/plan/rules/tables.hpp"
#include "workloads/plan/training_plan.hpp"

namespace highwater::plan_rules {
namespace {

bool uses_power_sgd(const Ddp& ddp) {
  return ddp.comm_hook == DdpCommHook::powersgd;
}

constexpr std::array kPartsOfPowerSgd{
    Part{[](const PlanFacts& f) { return f.plan->parallel.ddp.power_sgd.rank < 1; },
         "powersgd-rank"},
    Part{[](const PlanFacts& f) { return f.plan->parallel.ddp.power_sgd.start_iter < 0; },
         "powersgd-start-iter"},
    Part{[](const PlanFacts& f) {
           return !(f.plan->parallel.ddp.power_sgd.min_compression_rate > 0);
         },
         "powersgd-min-rate"}};

bool has_zero_redundancy(const PlanFacts& f) {
  return spreads_states(f.plan->parallel.ddp);
}

// Such an optimizer makes an object of torch.optim.Optimizer for its part, whose step() it calls,
// and has no method besides.
bool is_of_a_package(const PlanFacts& f) {
  const OptimizerKind kind = f.plan->optimizer.kind;
  return kind == OptimizerKind::muon || library_of(kind) == OptimizerLibrary::package;
}

constexpr std::array kPartsOfSplitModels{
    Part{[](const PlanFacts& f) { return f.plan->parallel.pp > 1; }, "pp {pp}"},
    Part{[](const PlanFacts& f) { return f.plan->parallel.tp > 1; }, "tp {tp}"},
    Part{[](const PlanFacts& f) { return f.plan->parallel.cp > 1; }, "cp {cp}"},
    Part{[](const PlanFacts& f) { return f.plan->parallel.ep > 1; }, "ep {ep}"}};

constexpr std::array kDdpRules{
    Rule{[](const PlanFacts& f) {
           const Ddp& ddp = f.plan->parallel.ddp;
           return !uses_power_sgd(ddp) && ddp.power_sgd != PowerSgd{};
         },
         "{asked}: the PowerSGD hook is not enabled; add --ddp-comm-hook powersgd",
         parts::kPowerSgdOptions},
    Rule{[](const PlanFacts& /*f*/) { return true; },
         "{asked}: the value is out of range; use a rank of at least 1, 0 or more iterations, and "
         "a rate above 0",
         kPartsOfPowerSgd},
    Rule{[](const PlanFacts& f) {
           const Ddp& ddp = f.plan->parallel.ddp;
           const PowerSgd& sgd = ddp.power_sgd;
           return uses_power_sgd(ddp) && (sgd.error_feedback || sgd.warm_start) &&
                  sgd.start_iter <= 1;
         },
         "powersgd-start-iter: buckets change after the first iteration, so error feedback and "
         "warm start need at least 2 (powerSGD_hook.py); increase it, or set both to false"},
    Rule{[](const PlanFacts& f) {
           const Parallelism& p = f.plan->parallel;
           return p.ddp.comm_hook != DdpCommHook::none && p.backend == CommBackend::fake;
         },
         "ddp-comm-hook with backend fake: its collectives return no result for a hook to use; "
         "use nccl"},
    Rule{has_zero_redundancy,
         "zero-redundancy with {asked}: its ranks all hold the whole model; omit one of them",
         kPartsOfSplitModels},
    Rule{[](const PlanFacts& f) {
           return has_zero_redundancy(f) && f.plan->optimizer.master_weights;
         },
         "zero-redundancy with master-weights: ZeroRedundancyOptimizer steps the model's own "
         "parameters; omit one of them"},
    Rule{[](const PlanFacts& f) { return has_zero_redundancy(f) && is_of_a_package(f); },
         "zero-redundancy with optimizer {optimizer}: simulated are torch.optim's and "
         "bitsandbytes' optimizers within it; use one of these, or omit zero-redundancy"},
    Rule{
        [](const PlanFacts& f) {
          return has_zero_redundancy(f) && f.plan->optimizer.kind == OptimizerKind::none;
        },
        "zero-redundancy with optimizer none: nothing is stepped that ranks could share; choose an "
        "optimizer, or omit zero-redundancy"},
};

}  // namespace

std::span<const Rule> ddp_rules() {
  return kDdpRules;
}

}  // namespace highwater::plan_rules
