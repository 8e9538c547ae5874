// What every row of the table of closed forms promises.
#include <algorithm>
#include <cmath>
#include <numeric>
#include <set>

#include <catch2/catch.hpp>

#include "tests/workloads/estimates/forms/estimated_plan.hpp"
#include "workloads/estimates/terms/estimate_inputs.hpp"
#include "workloads/plan/training_plan.hpp"

using namespace highwater;
using Catch::Contains;
using test::estimated_plan;
using test::form_named;
using test::inputs_of;
using test::without_training;

namespace {

/// Plans that between them take every branch of the rows.
std::vector<EstimateInputs> various_inputs() {
  TrainingPlan parallel = estimated_plan("gpt2-medium");
  parallel.parallel = {.dp = 2, .dp_kind = DataParallel::zero1, .tp = 4, .sequence_parallel = true};
  parallel.checkpoint.kind = CheckpointKind::selective_attention;
  TrainingPlan pipeline = estimated_plan("gpt2-medium");
  pipeline.parallel = {.tp = 2, .pp = 4, .schedule = PipelineSchedule::interleaved, .chunks = 3};
  pipeline.grad_accum = 4;
  pipeline.checkpoint.kind = CheckpointKind::full;
  TrainingPlan eager = estimated_plan("gpt2");
  eager.attention = Attention::eager;
  TrainingPlan offloaded = estimated_plan("gpt2");
  offloaded.parallel.offload = Offload::optimizer;
  return {inputs_of(estimated_plan("gpt2")),
          inputs_of(estimated_plan("llama-7b"), 8),
          inputs_of(parallel, 8),
          inputs_of(pipeline, 8),
          inputs_of(eager),
          inputs_of(offloaded, 8, 2),
          inputs_of(estimated_plan("t5-3b"), 8),
          inputs_of(without_training(estimated_plan("gpt2")))};
}

double sum(const Estimate& estimate) {
  double total = 0;
  for (const EstimateTerm& term : estimate.terms) {
    total += term.bytes;
  }
  return total;
}

}  // namespace

TEST_CASE("estimates: every row says what it is, by a name of its own", "[workloads][estimates]") {
  std::set<std::string_view> names;
  for (const Formula* formula : formulas()) {
    CAPTURE(formula->name);
    CHECK(names.insert(formula->name).second);
    CHECK(find_formula(formula->name) == formula);
    for (const std::string_view text : {formula->title, formula->equation, formula->source,
                                        formula->assumptions, formula->known_errors}) {
      CHECK_FALSE(text.empty());
    }
    CHECK(formula->refusal != nullptr);
    CHECK(formula->broken_assumptions != nullptr);
    CHECK(formula->evaluate != nullptr);
  }
  CHECK(find_formula("nosuch") == nullptr);
}

TEST_CASE("estimates: terms are not negative, named, stand for something and sum to the total",
          "[workloads][estimates]") {
  for (const EstimateInputs& inputs : various_inputs()) {
    for (const Formula* formula : formulas()) {
      CAPTURE(formula->name, inputs.plan.model.name);
      if (!formula->refusal(inputs).empty()) {
        continue;
      }
      const Estimate estimate = formula->evaluate(inputs);
      CHECK(estimate.bytes() == sum(estimate));
      const std::vector<std::int64_t> whole = whole_bytes(estimate);
      CHECK(std::accumulate(whole.begin(), whole.end(), std::int64_t{0}) ==
            std::llround(estimate.bytes()));
      for (const EstimateTerm& term : estimate.terms) {
        CAPTURE(term.name);
        CHECK(term.bytes >= 0);
        CHECK_FALSE(term.name.empty());
        CHECK_FALSE(term.equation.empty());
        CHECK_FALSE(term.covers.empty());
      }
      if (formula->variants != nullptr) {
        for (const FormulaVariant& variant : formula->variants(inputs)) {
          CHECK_FALSE(variant.label.empty());
          CHECK(variant.gpu_bytes > 0);
        }
      }
    }
  }
}

TEST_CASE("estimates: whole bytes lose nothing to rounding", "[workloads][estimates]") {
  const Estimate thirds{
      {{"a", "x", 1.0 / 3, {}}, {"b", "x", 1.0 / 3, {}}, {"c", "x", 1.0 / 3, {}}}};
  CHECK(whole_bytes(thirds) == std::vector<std::int64_t>{0, 1, 0});
}

TEST_CASE("estimates: more tokens never need less", "[workloads][estimates]") {
  for (const std::string_view model : {"gpt2", "llama-7b"}) {
    TrainingPlan small = estimated_plan(model);
    TrainingPlan large_batch = small;
    large_batch.batch = 3;
    TrainingPlan long_seq = small;
    long_seq.seq = {1024};
    for (const Formula* formula : formulas()) {
      CAPTURE(formula->name, model);
      const double before = formula->evaluate(inputs_of(small)).bytes();
      const double with_batch = formula->evaluate(inputs_of(large_batch)).bytes();
      const double with_seq = formula->evaluate(inputs_of(long_seq)).bytes();
      if (formula->scope == FormulaScope::model_states) {
        CHECK(with_batch == before);
        CHECK(with_seq == before);
      } else {
        CHECK(with_batch > before);
        CHECK(with_seq > before);
      }
    }
  }
}

TEST_CASE("estimates: forms about training refuse a plan that computes only the forward pass",
          "[workloads][estimates]") {
  const EstimateInputs inputs = inputs_of(without_training(estimated_plan("gpt2")));
  for (const std::string_view name :
       {"zero-paper", "deepspeed-zero2", "deepspeed-zero3", "deepspeed-activations", "nemo-table",
        "korthikanti", "megatron"}) {
    CAPTURE(name);
    CHECK_THAT(form_named(name).refusal(inputs), Contains("only the forward pass"));
  }
  CHECK(form_named("accelerate").refusal(inputs).empty());
}
