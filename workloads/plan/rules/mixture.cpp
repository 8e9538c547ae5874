// Rules of Megatron-Core's mixtures of experts and of expert parallelism.
// Source: Megatron-Core 0.16.1, moe_layer.py, router.py, transformer_config.py.
#include <array>

#include "workloads/plan/rules/tables.hpp"

namespace highwater::plan_rules {
namespace {

bool is_megatron_mixture(const PlanFacts& f) {
  return runs_megatron(f) && f.shape.experts > 0;
}

constexpr std::array kMixtureRules{
    Rule{[](const PlanFacts& f) {
           const Parallelism& p = f.plan->parallel;
           return runs_megatron(f) && p.dp * p.cp % p.ep != 0;
         },
         "ep {ep}: experts are spread over ranks that process different data; use a divisor of dp "
         "* cp"},
    Rule{
        [](const PlanFacts& f) {
          return is_megatron_mixture(f) && f.plan->parallel.tp > 1 &&
                 !f.plan->parallel.sequence_parallel;
        },
        "tp {tp} with a mixture of experts: Megatron-Core requires sequence parallelism; add --sp"},
    Rule{[](const PlanFacts& f) {
           const Megatron& m = f.plan->parallel.megatron;
           return runs_megatron(f) && f.shape.experts == 0 &&
                  (m.moe_capacity_factor || m.moe_imbalance != 1);
         },
         "moe-capacity-factor, moe-imbalance: {model} is not a mixture of experts; omit them"},
    Rule{[](const PlanFacts& f) {
           const Megatron& m = f.plan->parallel.megatron;
           return m.moe_capacity_factor && m.moe_imbalance != 1;
         },
         "moe-imbalance with moe-capacity-factor: with a capacity factor, all experts receive the "
         "same number of tokens; omit one of them"},
    Rule{[](const PlanFacts& f) {
           const Parallelism& p = f.plan->parallel;
           return p.megatron.moe_imbalance > 1 && p.megatron.moe_imbalance > p.ep;
         },
         "moe-imbalance: no rank can receive more than all tokens, which is {ep} times the mean; "
         "use at most {ep}"},
};

}  // namespace

std::span<const Rule> mixture_rules() {
  return kMixtureRules;
}

}  // namespace highwater::plan_rules
