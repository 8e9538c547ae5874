// Rules of mixtures of experts, and of expert parallelism in Megatron-Core.
// Source: Megatron-Core 0.16.1, moe_layer.py, router.py, transformer_config.py.
#include <array>

#include "workloads/plan/rules/parts.hpp"
#include "workloads/plan/rules/tables.hpp"
#include "workloads/plan/training_plan.hpp"

namespace highwater::plan_rules {
namespace {

bool runs_deepspeed(const PlanFacts& f) {
  return f.plan->experts == Experts::deepspeed;
}

bool is_megatron_mixture(const PlanFacts& f) {
  return runs_megatron(f) && f.shape.experts > 0;
}

/// Whether experts are split otherwise than the other layers.
bool has_own_etp(const PlanFacts& f) {
  const Parallelism& p = f.plan->parallel;
  return is_megatron_mixture(f) && expert_tp(p) != p.tp;
}

constexpr std::array kPartsOfLayer{
    Part{[](const PlanFacts& f) { return f.plan->deepspeed_moe.noise != GateNoise::none; },
         "moe-noise"},
    Part{[](const PlanFacts& f) { return f.plan->deepspeed_moe.use_residual; }, "moe-residual"}};

constexpr std::array kMixtureRules{
    Rule{[](const PlanFacts& f) {
           const Parallelism& p = f.plan->parallel;
           return runs_megatron(f) && expert_tp(p) == p.tp && p.dp * p.cp % p.ep != 0;
         },
         "ep {ep}: experts that tp splits are spread over ranks that process different data; use a "
         "divisor of dp * cp, or add --etp 1"},
    Rule{[](const PlanFacts& f) {
           const Parallelism& p = f.plan->parallel;
           return has_own_etp(f) && (p.tp * p.dp * p.cp % p.ep != 0 || p.ep % p.tp != 0);
         },
         "ep {ep} with etp {etp}: experts are spread over ranks that tp counts first; use a "
         "multiple "
         "of tp that divides tp * dp * cp"},
    Rule{[](const PlanFacts& f) {
           const Parallelism& p = f.plan->parallel;
           return p.etp && is_megatron_mixture(f) && *p.etp != 1 && *p.etp != p.tp;
         },
         "etp {etp}: each expert is whole on a rank, or split over "
         "those of tp, in the simulation; use 1 or the size of tp, or omit it"},
    Rule{[](const PlanFacts& f) { return f.plan->parallel.etp && !is_megatron_mixture(f); },
         "etp {etp}: only a mixture of experts under Megatron-Core has this; omit it"},
    Rule{[](const PlanFacts& f) { return has_own_etp(f) && !is_even(f.plan->moe_load); },
         "moe-load with etp {etp}: ranks of tp with other experts are not told apart yet by the "
         "simulation; omit one of them"},
    Rule{
        [](const PlanFacts& f) {
          return is_megatron_mixture(f) && f.plan->parallel.tp > 1 &&
                 !f.plan->parallel.sequence_parallel;
        },
        "tp {tp} with a mixture of experts: Megatron-Core requires sequence parallelism; add --sp"},
    Rule{[](const PlanFacts& f) {
           const Megatron& m = f.plan->parallel.megatron;
           return runs_megatron(f) && f.shape.experts == 0 && m.moe_capacity_factor;
         },
         "moe-capacity-factor: {model} is not a mixture of experts; omit it"},
    Rule{[](const PlanFacts& f) { return f.shape.experts == 0 && !is_even(f.plan->moe_load); },
         "moe-load: {model} is not a mixture of experts; omit it"},
    Rule{[](const PlanFacts& f) {
           return f.plan->parallel.megatron.moe_capacity_factor && !is_even(f.plan->moe_load);
         },
         "moe-load with moe-capacity-factor: with a capacity factor, all experts receive the same "
         "number of tokens; omit one of them"},
    Rule{[](const PlanFacts& f) {
           return f.plan->experts == Experts::even && !is_even(f.plan->moe_load);
         },
         "moe-load with experts even: that loop gives every expert the same number of tokens; use "
         "experts eager"},
    Rule{[](const PlanFacts& f) {
           return f.plan->parallel.ep > 1 && f.plan->moe_load.busiest > f.plan->parallel.ep;
         },
         "moe-load: no rank can receive more than all tokens, which is {ep} times the mean; use at "
         "most busiest:{ep}"},
    Rule{[](const PlanFacts& f) {
           return f.plan->parallel.ep == 1 && f.shape.experts > 0 &&
                  f.plan->moe_load.busiest > static_cast<double>(f.shape.experts);
         },
         "moe-load: no expert can receive more than all tokens, which is {experts} times the mean; "
         "use at most busiest:{experts}"},
    Rule{[](const PlanFacts& f) { return !runs_deepspeed(f); },
         "{asked}: only DeepSpeed's layer has this; add --experts deepspeed, or omit {them}",
         kPartsOfLayer},
    Rule{[](const PlanFacts& f) {
           return runs_deepspeed(f) && f.shape.experts > 0 &&
                  family_name(f.plan->model) != "mixtral";
         },
         "experts deepspeed: only Mixtral's mixtures are replaced by DeepSpeed's; use a Mixtral"},
    Rule{[](const PlanFacts& f) {
           const Parallelism& p = f.plan->parallel;
           return runs_deepspeed(f) && p.dp % p.ep != 0;
         },
         "ep {ep} with experts deepspeed: experts are spread over ranks that process different "
         "data; use a divisor of dp"},
    Rule{[](const PlanFacts& f) {
           const Parallelism& p = f.plan->parallel;
           const auto shares = static_cast<std::int64_t>(f.plan->moe_load.shares.size());
           const std::int64_t groups = expert_data_group(p).ranks;
           return shares > 0 && f.shape.experts > 0 && shares != f.shape.experts &&
                  shares != f.shape.experts * groups;
         },
         "moe-load: {model} has {experts} experts, but the file has the shares of {shares}; write "
         "one number for each expert, or such a list for each group of ranks that share experts"},
};

constexpr std::array kPartsOfExperts{
    parts::kFramework,
    parts::kCp,
    parts::kTp,
    parts::kPp,
    Part{[](const PlanFacts& f) { return f.plan->parallel.dp_kind != DataParallel::ddp; },
         "dp-kind {dp_kind}"},
    parts::kCheckpoint,
    parts::kLora,
    parts::kAutocast,
    parts::kEval,
    parts::kLoss};

constexpr std::array kMixtureGaps{
    Rule{[](const PlanFacts& f) { return runs_deepspeed(f); },
         "experts deepspeed with {asked}: not supported yet by the simulation; omit {asked}",
         kPartsOfExperts},
};

}  // namespace

std::span<const Rule> mixture_gaps() {
  return kMixtureGaps;
}

std::span<const Rule> mixture_rules() {
  return kMixtureRules;
}

}  // namespace highwater::plan_rules
