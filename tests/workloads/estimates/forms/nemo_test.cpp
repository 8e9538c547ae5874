// NeMo's formulas, table and buckets: values that its article prints.
#include "workloads/estimates/forms/nemo.hpp"

#include <cmath>

#include <catch2/catch.hpp>

#include "tests/workloads/estimates/forms/estimated_plan.hpp"
#include "workloads/estimates/terms/estimate_inputs.hpp"
#include "workloads/plan/training_plan.hpp"

using namespace highwater;
using Catch::Contains;
using test::estimated_plan;
using test::form_named;
using test::inputs_of;
using test::kGiB;

TEST_CASE("estimates: the first row of NeMo's table, and the formulas it prints",
          "[workloads][estimates]") {
  const NemoRun run{.seq = 2048,
                    .batch = 2,
                    .hidden = 2048,
                    .heads = 16,
                    .layers = 24,
                    .vocab = 50257,
                    .tp = 1,
                    .dp = 8};
  CHECK(nemo_static(NemoVersion::table, 1.41e9, run).bytes() == 10'222'500'000.0);
  CHECK(nemo_activations(NemoVersion::table, run).bytes() == 8'163'442'688.0);
  CHECK(nemo_cross_entropy(run).bytes() == 823'410'688.0);
  CHECK(nemo_static(NemoVersion::printed, 1.41e9, run).bytes() / kGiB == Approx(6.894115));
  CHECK(nemo_activations(NemoVersion::printed, run).bytes() / kGiB == Approx(7.977798));
  // The difference is the two masks of one byte.
  CHECK(nemo_activations(NemoVersion::printed, run).bytes() -
            nemo_activations(NemoVersion::table, run).bytes() ==
        2.0 * 2048 * 2 * 2048 * 24);
  // 38.25 is what selective recomputation keeps on one GPU; the quadratic term is what it saves.
  CHECK(nemo_full_activations(run).bytes() - nemo_activations(NemoVersion::printed, run).bytes() ==
        5.0 * 16 * 2048 * 2048 * 2 * 24);
  NemoRun split = run;
  split.tp = 2;
  CHECK(nemo_cross_entropy(split).bytes() == 3 * 2048.0 * 2 * 50257);
  CHECK(nemo_static(NemoVersion::table, 1.41e9, split).bytes() == 10'222'500'000.0 / 2);
}

TEST_CASE("estimates: NeMo's buckets", "[workloads][estimates]") {
  CHECK(nemo_bucket(1.41e9, 24, 1) == 235e6);
  CHECK(nemo_layer_parameters(2048, 5440) == 50200576);
  CHECK(nemo_bucket(nemo_layer_parameters(2048, 5440), 1, 4) == 50200576);
  const NemoRun run{.hidden = 2048, .layers = 24, .vocab = 50257, .tp = 4, .dp = 2};
  CHECK(nemo_bucketed_static(1.41e9, run, 50e6) / 1e9 == Approx(11.968169).epsilon(1e-7));
}

TEST_CASE("estimates: NeMo's rows on NeMo's own model", "[workloads][estimates]") {
  TrainingPlan plan = estimated_plan("nemo-gpt-1b");
  plan.seq = {2048};
  plan.batch = 2;
  plan.parallel = {.dp = 8, .dp_kind = DataParallel::zero1};
  const EstimateInputs inputs = inputs_of(plan, 8);
  CHECK(form_named("nemo-table").broken_assumptions(inputs).empty());
  CHECK(form_named("nemo-table").evaluate(inputs).bytes() / kGiB == Approx(17.89).epsilon(1e-3));
  CHECK(form_named("nemo-printed").evaluate(inputs).bytes() / kGiB == Approx(15.64).epsilon(1e-3));
  plan.attention = Attention::eager;
  const Estimate kept = form_named("nemo-printed").evaluate(inputs_of(plan, 8));
  CHECK_THAT(kept.terms[3].equation, Contains("5 a s / h"));
  plan.parallel = {.pp = 2};
  CHECK_THAT(form_named("nemo-table").refusal(inputs_of(plan, 2)), Contains("pipeline"));
}
