// Rules of Colossal-AI's 2D, 2.5D and 3D tensor parallelism: what does not fit on the grid of
// ranks, what its layers cannot build, and what the simulation lacks.
#include "workloads/plan/tensor_grid.hpp"

#include <array>

#include "workloads/plan/rules/parts.hpp"
#include "workloads/plan/rules/tables.hpp"
#include "workloads/plan/training_plan.hpp"

namespace highwater::plan_rules {
namespace {

constexpr std::int64_t kSmallVocabulary = 2048;  // Embedding's vocab_parallel_limit

bool divides(std::int64_t divisor, std::int64_t number) {
  return number % divisor == 0;
}

bool fits_grid(const PlanFacts& f) {
  const std::int64_t side = grid_side(f.plan->parallel);
  const bool splits_heads = divides(side, f.shape.heads);
  const bool splits_width = divides(side * side, f.shape.hidden) && divides(side, f.shape.ffn);
  return splits_heads && splits_width;
}

constexpr std::array kTensorGridRules{
    Rule{[](const PlanFacts& f) {
           const Parallelism& p = f.plan->parallel;
           return sizes_are_sound(p) && splits_over_grid(p) && !fills_grid(p);
         },
         "tp {tp}: tp-kind 2d splits layers over a square of ranks, 2.5d over --tp-depth squares, "
         "3d over a cube; use a tp of that form, such as 4 for 2d, 8 with --tp-depth 2 for 2.5d, 8 "
         "for 3d"},
    Rule{[](const PlanFacts& f) {
           const Parallelism& p = f.plan->parallel;
           return p.tp_depth > 1 && p.tp_kind != TensorParallel::colossalai_2p5d;
         },
         "tp-depth: only the grid of 2.5D parallelism has a depth of its own; add --tp-kind 2.5d"},
    Rule{[](const PlanFacts& f) {
           return splits_over_grid(f.plan->parallel) && f.shape.heads > 0 && !fits_grid(f);
         },
         "tp {tp}: the {heads} heads, the width and the inner width of {model} cannot be split "
         "over the sides of the grid; use another tp"},
    Rule{[](const PlanFacts& f) {
           const Parallelism& p = f.plan->parallel;
           return splits_over_grid(p) && f.shape.vocab > 0 &&
                  !divides(grid_batch_parts(p), f.shape.vocab);
         },
         "tp {tp}: the vocabulary of {model} cannot be split evenly over the sides of the grid "
         "(Colossal-AI's own GPT pads 50257 tokens to 50304); use a model with vocab_size padded "
         "to a multiple of 128"},
    Rule{[](const PlanFacts& f) {
           const Parallelism& p = f.plan->parallel;
           return splits_over_grid(p) && !divides(grid_batch_parts(p), f.plan->batch);
         },
         "batch {batch}: the ranks of the grid split each batch; use a multiple of the grid's "
         "side, with tp-kind 3d of its square"},
    Rule{[](const PlanFacts& f) {
           return splits_over_grid(f.plan->parallel) && f.shape.heads > 0 &&
                  family_name(f.plan->model) != "gpt2";
         },
         "tp-kind {tp_kind}: Colossal-AI's layers have LayerNorm, learned positions and gelu; use "
         "a GPT-2 model"},
};

constexpr std::array kPartsOfGridAxes{parts::kDp, parts::kPp, parts::kCp};

constexpr std::array kPartsOfGridLoop{parts::kCheckpoint, parts::kLora,     parts::kAutocast,
                                      parts::kLoss,       parts::kGradClip, parts::kInBackward,
                                      parts::kMask};

constexpr std::array kTensorGridGaps{
    Rule{[](const PlanFacts& f) { return splits_over_grid(f.plan->parallel); },
         "tp-kind {tp_kind} with {asked}: not supported yet by the simulation; omit {asked}",
         kPartsOfGridAxes},
    Rule{[](const PlanFacts& f) {
           const TrainingPlan& plan = *f.plan;
           const bool is_plain_loop =
               plan.framework == Framework::hf || plan.framework == Framework::torch;
           return splits_over_grid(plan.parallel) &&
                  !(is_plain_loop && plan.model_code == ModelCode::hf);
         },
         "tp-kind {tp_kind}: the simulation has a plain loop around Colossal-AI's GPT; use "
         "--framework hf or torch"},
    Rule{[](const PlanFacts& f) { return splits_over_grid(f.plan->parallel); },
         "tp-kind {tp_kind} with {asked}: not supported yet by the simulation; omit {asked}",
         kPartsOfGridLoop},
    Rule{[](const PlanFacts& f) {
           return splits_over_grid(f.plan->parallel) &&
                  shape_of(f.plan->model).vocab <= kSmallVocabulary;
         },
         "tp-kind {tp_kind}: a vocabulary of at most 2048 tokens has other layers in Colossal-AI, "
         "which are not supported yet by the simulation; use a larger one"},
};

}  // namespace

std::span<const Rule> tensor_grid_rules() {
  return kTensorGridRules;
}

std::span<const Rule> tensor_grid_gaps() {
  return kTensorGridGaps;
}

}  // namespace highwater::plan_rules
