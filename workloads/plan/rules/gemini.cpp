// Rules of ColossalAI's Gemini: what Gemini itself refuses or silently gets wrong, and its options
// given without it.
#include <array>

#include "workloads/plan/rules/option_parts.hpp"
#include "workloads/plan/rules/tables.hpp"
#include "workloads/plan/training_plan.hpp"

namespace highwater::plan_rules {
namespace {

constexpr std::array kPartsOfSearch{
    Part{[](const PlanFacts& f) { return f.plan->parallel.gemini.search.smallest < 1; },
         "gemini-min-chunk"},
    Part{[](const PlanFacts& f) { return f.plan->parallel.gemini.search.range < 0; },
         "gemini-search-range"},
    Part{[](const PlanFacts& f) { return f.plan->parallel.gemini.search.step < 1; },
         "gemini-search-step"}};

constexpr std::array kGeminiRules{
    Rule{[](const PlanFacts& f) {
           const Precision precision = f.plan->precision;
           return is_gemini(f) && precision != Precision::fp16 && precision != Precision::bf16;
         },
         "precision {precision}: Gemini keeps parameters in 16 bits; use fp16 or bf16"},
    Rule{[](const PlanFacts& f) {
           const Parallelism& p = f.plan->parallel;
           return is_gemini(f) && p.dp > 1 && p.dp_kind != DataParallel::zero3;
         },
         "dp {dp}: Gemini shards parameters, gradients and optimizer states; use dp-kind zero3"},
    Rule{[](const PlanFacts& f) {
           const Parallelism& p = f.plan->parallel;
           return is_gemini(f) && p.tp > 1 && p.tp_kind != TensorParallel::colossalai;
         },
         "tp-kind: Gemini splits layers as ColoTensor does; use colossalai"},
    Rule{[](const PlanFacts& f) { return is_gemini(f) && f.plan->grad_accum > 1; },
         "grad-accum {accum}: Gemini overwrites the parameters with gradients, and a second "
         "backward would need the parameters; omit the option"},
    Rule{[](const PlanFacts& f) { return is_gemini(f) && f.plan->grad_clip.has_value(); },
         "grad-clip: Gemini does not let scripts clip gradients; omit the option"},
    Rule{[](const PlanFacts& f) {
           const OptimizerKind kind = f.plan->optimizer.kind;
           return is_gemini(f) && kind != OptimizerKind::adamw && kind != OptimizerKind::adam;
         },
         "optimizer: Gemini trains with HybridAdam; use adamw or adam"},
    Rule{[](const PlanFacts& f) { return is_gemini(f) && !f.plan->training; },
         "mode eval with framework colossalai-gemini: not supported; omit one of them"},
    Rule{[](const PlanFacts& f) { return is_gemini(f) && f.plan->lora.rank > 0; },
         "lora with framework colossalai-gemini: frozen parameters outside chunks are not "
         "supported; omit one of them"},
    Rule{[](const PlanFacts& /*f*/) { return true; },
         "{asked}: the value is out of range; use at least 1 for the chunk and the step, and at "
         "least 0 for the range",
         kPartsOfSearch},
    Rule{[](const PlanFacts& f) {
           const Gemini& gemini = f.plan->parallel.gemini;
           return gemini.margin_share > 0 && gemini.placement != GeminiPlacement::automatic;
         },
         "gemini-margin-ratio: Colossal-AI ignores it without placement auto; add "
         "--gemini-placement auto"},
    Rule{[](const PlanFacts& f) { return !is_gemini(f); },
         "{asked}: only Gemini has this; add --framework colossalai-gemini, or omit {them}",
         parts::kGeminiOptions},
};

}  // namespace

std::span<const Rule> gemini_rules() {
  return kGeminiRules;
}

}  // namespace highwater::plan_rules
