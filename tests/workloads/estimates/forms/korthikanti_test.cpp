// Korthikanti et al.: the paper's table for GPT-3 and its first stage.
#include "workloads/estimates/forms/korthikanti.hpp"

#include <catch2/catch.hpp>

#include "tests/workloads/estimates/forms/estimated_plan.hpp"
#include "workloads/plan/training_plan.hpp"

using namespace highwater;
using Catch::Contains;
using test::estimated_plan;
using test::form_named;
using test::inputs_of;

namespace {

KorthikantiRun gpt3(double tp, bool sequence_parallel) {
  return {.seq = 2048,
          .batch = 1,
          .hidden = 12288,
          .heads = 96,
          .layers = 96,
          .vocab = 51200,
          .tp = tp,
          .sequence_parallel = sequence_parallel};
}

}  // namespace

TEST_CASE("estimates: Korthikanti's table for GPT-3", "[workloads][estimates]") {
  using Recompute = KorthikantiRecompute;
  const auto layer = [](double tp, bool sp, Recompute recompute) {
    return korthikanti_layer(gpt3(tp, sp), recompute).bytes();
  };
  CHECK(layer(1, false, Recompute::none) == 2868903936.0);
  CHECK(layer(8, false, Recompute::none) == 578813952.0);
  CHECK(layer(8, true, Recompute::none) == 358612992.0);
  CHECK(layer(8, false, Recompute::selective) == 327155712.0);
  CHECK(layer(8, true, Recompute::selective) == 106954752.0);
  CHECK(layer(8, true, Recompute::full) == 50331648.0);
  CHECK(layer(8, true, Recompute::fused) == 106954752.0 + 4 * 96 * 2048 / 8);
  for (const auto recompute : {Recompute::none, Recompute::selective, Recompute::fused}) {
    CHECK(layer(1, true, recompute) == layer(1, false, recompute));
  }
}

TEST_CASE("estimates: Korthikanti's first stage", "[workloads][estimates]") {
  KorthikantiRun run = gpt3(8, true);
  const double sbh = 2048.0 * 12288;
  const double layers = 96 * 34 * sbh / 8;
  CHECK(korthikanti(run, KorthikantiRecompute::selective).bytes() ==
        layers + sbh / 8 + 4 * sbh / 8 + 4 * 2048.0 * 51200 / 8);
  run.pp = 8;  // the first stage holds p micro-batches of L / p layers, and no head
  CHECK(korthikanti(run, KorthikantiRecompute::selective).bytes() == layers + sbh * 8 / 8);
  run.chunks = 3;
  CHECK(korthikanti(run, KorthikantiRecompute::selective).bytes() ==
        Approx(layers * (1 + 7.0 / 24) + sbh));
}

TEST_CASE("estimates: Korthikanti's row takes the variant from the plan",
          "[workloads][estimates]") {
  TrainingPlan plan = estimated_plan("gpt2");
  const auto first = [&] { return form_named("korthikanti").evaluate(inputs_of(plan)).terms; };
  CHECK_THAT(first()[1].equation, Contains("4 a s b"));
  plan.attention = Attention::eager;
  CHECK_THAT(first()[1].equation, Contains("5 a s^2 b"));
  plan.checkpoint.kind = CheckpointKind::selective_attention;
  CHECK(first()[1].name == "embedding dropout");
  plan.checkpoint.kind = CheckpointKind::full;
  CHECK(first()[0].equation == "L 2 s b h");
  CHECK(form_named("korthikanti").broken_assumptions(inputs_of(plan)).empty());
  plan.checkpoint.kind = CheckpointKind::selective_op;
  CHECK_FALSE(form_named("korthikanti").refusal(inputs_of(plan)).empty());
  CHECK_FALSE(form_named("korthikanti").refusal(inputs_of(estimated_plan("t5-3b"))).empty());
}
