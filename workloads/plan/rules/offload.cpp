// Rules of offloading to the host: combinations that no framework offers, and options that belong
// to another framework.
//
// PyTorch offloads parameters, gradients and optimizer states together (CPUOffloadPolicy,
// CPUOffload) and saved tensors (save_on_cpu); DeepSpeed offloads optimizer states, in stage 3
// parameters, too (runtime/zero/config.py: offload_param is "only valid with stage 3").
#include "workloads/plan/offload.hpp"

#include <array>

#include "workloads/plan/rules/tables.hpp"
#include "workloads/plan/training_plan.hpp"

namespace highwater::plan_rules {
namespace {

constexpr std::array kOffloadRules{
    Rule{[](const PlanFacts& f) {
           const Parallelism& p = f.plan->parallel;
           return is_sharded(p) && p.offload == Offload::optimizer;
         },
         "offload optimizer with FSDP: FSDP offloads parameters, gradients and optimizer states "
         "together; use offload params"},
    Rule{[](const PlanFacts& f) {
           return fsdp_offloads(f.plan->parallel) &&
                  library_of(f.plan->optimizer.kind) == OptimizerLibrary::bitsandbytes;
         },
         "optimizer of bitsandbytes with offload params: its kernels run on the GPU, but the "
         "parameters are in host memory; use adamw"},
    Rule{[](const PlanFacts& f) {
           return saves_on_cpu(f.plan->parallel) && is_dtensor_parallel(f.plan->parallel);
         },
         "offload activations with tp-kind dtensor: save_on_cpu cannot copy DTensors into plain "
         "tensors; omit one of them"},
    Rule{[](const PlanFacts& f) { return saves_on_cpu(f.plan->parallel) && !f.plan->training; },
         "offload activations with eval: nothing is saved for backward; omit offload"},
};

}  // namespace

std::span<const Rule> offload_rules() {
  return kOffloadRules;
}

}  // namespace highwater::plan_rules
