#include "workloads/estimates/forms/deepspeed_activations.hpp"

#include "workloads/estimates/terms/assumptions.hpp"
#include "workloads/plan/training_plan.hpp"

namespace highwater {
namespace {

std::string refusal(const EstimateInputs& inputs) {
  return first_refusal({refuse_without_training(inputs), refuse_encoders(inputs)});
}

std::vector<std::string> broken_assumptions(const EstimateInputs& inputs) {
  return broken({{has_half_activations(inputs), "it assumes 16-bit activations"},
                 {keeps_scores(inputs), "it assumes attention that keeps its scores"},
                 {inputs.plan.checkpoint.kind == CheckpointKind::none,
                  "it assumes that nothing is recomputed"},
                 {!splits_the_model(inputs),
                  "it does not cover tensor, pipeline or context "
                  "parallelism"},
                 {inputs.shape.experts == 0, "it assumes dense blocks"}});
}

Estimate evaluate(const EstimateInputs& inputs) {
  const ModelShape& shape = inputs.shape;
  Estimate estimate =
      deepspeed_activations(static_cast<double>(inputs.seq), static_cast<double>(inputs.plan.batch),
                            static_cast<double>(shape.hidden), static_cast<double>(shape.heads));
  for (EstimateTerm& term : estimate.terms) {
    term.equation = "L " + term.equation;
    term.bytes *= static_cast<double>(shape.layers);
  }
  return estimate;
}

}  // namespace

Estimate deepspeed_activations(double seq, double batch, double hidden, double heads) {
  const double tokens = seq * batch;
  return {{{"attention scores", "2 s a s b", 2 * seq * heads * tokens, {MemoryPart::activations}},
           {"hidden states", "16 h s b", 16 * hidden * tokens, {MemoryPart::activations}}}};
}

const Formula kDeepspeedActivations{
    .name = "deepspeed-activations",
    .title = "DeepSpeed activations, unfinished",
    .scope = FormulaScope::activations,
    .equation = "L (2 s a + 16 h) s b",
    .source = "DeepSpeed documentation, \"Memory Requirements\", activations: (2 s a + 16 h) s b",
    .assumptions =
        "the source does not mention the number of layers: taken as one layer's and multiplied by "
        "L here; 16-bit activations, attention that keeps its scores",
    .known_errors =
        "not validated: its authors call it unfinished, and it is lower than the 34 s b h + 5 a "
        "s^2 b of Korthikanti et al.; no logits, no loss",
    .refusal = refusal,
    .broken_assumptions = broken_assumptions,
    .evaluate = evaluate,
};

}  // namespace highwater
