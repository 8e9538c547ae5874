// Rules of ColossalAI's Gemini: what it refuses itself or silently gets wrong, and its options
// without it.
#include <array>

#include "workloads/plan/rules/tables.hpp"

namespace highwater::plan_rules {
namespace {

constexpr std::array kGeminiRules{
    Rule{[](const Facts& f) {
           const Precision precision = f.plan->precision;
           return is_gemini(f) && precision != Precision::fp16 && precision != Precision::bf16;
         },
         "precision {precision}: Gemini keeps parameters in 16 bit; give fp16 or bf16"},
    Rule{[](const Facts& f) {
           const Parallelism& p = f.plan->parallel;
           return is_gemini(f) && p.dp > 1 && p.dp_kind != DataParallel::zero3;
         },
         "dp-kind: Gemini shards parameters, gradients and optimizer states; give zero3"},
    Rule{[](const Facts& f) {
           const Parallelism& p = f.plan->parallel;
           return is_gemini(f) && p.tp > 1 && p.tp_kind != TensorParallel::colossalai;
         },
         "tp-kind: Gemini splits layers as ColoTensor does; give colossalai"},
    Rule{[](const Facts& f) { return is_gemini(f) && f.plan->grad_accum > 1; },
         "grad-accum {accum}: Gemini writes gradients over the parameters, which a second backward "
         "would need; leave the option out"},
    Rule{[](const Facts& f) { return is_gemini(f) && f.plan->grad_clip.has_value(); },
         "grad-clip: Gemini does not let scripts clip gradients; leave the option out"},
    Rule{[](const Facts& f) {
           const OptimizerKind kind = f.plan->optimizer.kind;
           return is_gemini(f) && kind != OptimizerKind::adamw && kind != OptimizerKind::adam;
         },
         "optimizer: Gemini trains with HybridAdam; give adamw or adam"},
    Rule{[](const Facts& f) { return is_gemini(f) && !f.plan->training; },
         "mode eval with framework colossalai-gemini: not supported; leave one of them out"},
    Rule{[](const Facts& f) { return is_gemini(f) && f.plan->lora.rank > 0; },
         "lora with framework colossalai-gemini: frozen parameters outside of chunks are not "
         "supported; leave one of them out"},
    Rule{[](const Facts& f) {
           const ChunkSearch& search = f.plan->parallel.gemini.search;
           return search.smallest < 1 || search.range < 0 || search.step < 1;
         },
         "gemini-min-chunk, gemini-search-range, gemini-search-step: a chunk has at least one "
         "element, the range at least none and the step at least one"},
    Rule{[](const Facts& f) { return !is_gemini(f) && f.plan->parallel.gemini != Gemini{}; },
         "gemini-min-chunk, gemini-search-range, gemini-search-step, gemini-gather-lone, "
         "gemini-empty-cache: these are options of --framework colossalai-gemini; give it too"},
};

}  // namespace

std::span<const Rule> gemini_rules() {
  return kGeminiRules;
}

}  // namespace highwater::plan_rules
