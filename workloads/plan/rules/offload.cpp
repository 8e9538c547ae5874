// Rules of offloading to the host: what no framework offers, and whose option it is.
//
// PyTorch offloads parameters, gradients and optimizer states together (CPUOffloadPolicy,
// CPUOffload) and saved tensors (save_on_cpu); DeepSpeed offloads optimizer states, in stage 3
// parameters, too (runtime/zero/config.py: offload_param is "only valid with stage 3").
#include "workloads/plan/offload.hpp"

#include <array>

#include "workloads/plan/rules/tables.hpp"

namespace highwater::plan_rules {
namespace {

constexpr std::array kOffloadRules{
    Rule{[](const Facts& f) {
           const Parallelism& p = f.plan->parallel;
           return is_sharded(p) && p.offload == Offload::optimizer;
         },
         "offload optimizer with FSDP: it offloads parameters, gradients and optimizer states "
         "together; give params"},
    Rule{[](const Facts& f) {
           const Optimizer& optimizer = f.plan->optimizer;
           return fsdp_offloads(f.plan->parallel) && optimizer.kind == OptimizerKind::adamw_8bit;
         },
         "optimizer adamw-8bit with offload params: its kernels run on the GPU, where the "
         "parameters are not; give adamw"},
    Rule{[](const Facts& f) {
           return saves_on_cpu(f.plan->parallel) && is_dtensor_parallel(f.plan->parallel);
         },
         "offload activations with tp-kind dtensor: save_on_cpu cannot copy DTensors into plain "
         "tensors; leave one of them out"},
    Rule{[](const Facts& f) { return saves_on_cpu(f.plan->parallel) && !f.plan->training; },
         "offload activations with eval: nothing is saved for backward; leave it out"},
};

}  // namespace

std::span<const Rule> offload_rules() {
  return kOffloadRules;
}

}  // namespace highwater::plan_rules
