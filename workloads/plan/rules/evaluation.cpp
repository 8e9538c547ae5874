// Rules of evaluation between training steps, and what the simulation of it lacks.
#include <array>

#include "workloads/plan/rules/parts.hpp"
#include "workloads/plan/rules/tables.hpp"
#include "workloads/plan/training_plan.hpp"

namespace highwater::plan_rules {
namespace {

template <auto member>
bool is_changed_evaluation(const PlanFacts& f) {
  return f.plan->evaluation.*member != Evaluation{}.*member;
}

constexpr std::array kPartsOfEvaluation{
    Part{is_changed_evaluation<&Evaluation::batches>, "eval-batches"},
    Part{is_changed_evaluation<&Evaluation::every>, "eval-steps"},
    Part{is_changed_evaluation<&Evaluation::outputs>, "eval-outputs"},
    Part{is_changed_evaluation<&Evaluation::accumulation_steps>, "eval-accumulation-steps"},
    Part{is_changed_evaluation<&Evaluation::concatenates>, "eval-concat"}};

constexpr std::array kPartsOfGathering{
    Part{is_changed_evaluation<&Evaluation::outputs>, "eval-outputs"},
    Part{is_changed_evaluation<&Evaluation::accumulation_steps>, "eval-accumulation-steps"},
    Part{is_changed_evaluation<&Evaluation::concatenates>, "eval-concat"}};

constexpr std::array kRules{
    Rule{[](const PlanFacts& f) { return !evaluates(f.plan->evaluation); },
         "{asked}: nothing is evaluated; add --eval-batch, or omit {them}", kPartsOfEvaluation},
    Rule{[](const PlanFacts& f) { return evaluates(f.plan->evaluation) && !f.plan->training; },
         "eval-batch with mode eval: the whole run is an evaluation; omit one of them"},
    Rule{
        [](const PlanFacts& f) { return !runs_trainer(f.plan->framework); },
        "{asked} with framework {framework}: Trainer gathers outputs, a plain loop keeps the loss; "
        "omit {them}, or use framework trainer",
        kPartsOfGathering}};

constexpr std::array kPartsOfOtherLoops{
    Part{[](const PlanFacts& f) { return f.plan->parallel.dp > 1 && !is_ddp(f.plan->parallel); },
         "dp-kind {dp_kind}"},
    parts::kTp,
    parts::kPp,
    parts::kCp,
    parts::kEp,
    Part{[](const PlanFacts& f) {
           const Framework framework = f.plan->framework;
           return framework != Framework::trainer && framework != Framework::hf &&
                  framework != Framework::accelerate && framework != Framework::torch;
         },
         "framework {framework}"},
    Part{[](const PlanFacts& f) { return uses_deepspeed(*f.plan) && f.plan->parallel.dp == 1; },
         "dp-kind {dp_kind}"},
    Part{[](const PlanFacts& f) { return f.plan->model_code != ModelCode::hf; },
         "model-code {model_code}"},
    parts::kLoss};

constexpr std::array kGaps{
    Rule{[](const PlanFacts& f) { return evaluates(f.plan->evaluation); },
         "eval-batch with {asked}: the simulation has evaluation on one GPU and under DDP, in "
         "transformers' Trainer and plain loops around its models; omit eval-batch, or record the "
         "script "
         "(highwater record)",
         kPartsOfOtherLoops}};

}  // namespace

std::span<const Rule> evaluation_rules() {
  return kRules;
}

std::span<const Rule> evaluation_gaps() {
  return kGaps;
}

}  // namespace highwater::plan_rules
