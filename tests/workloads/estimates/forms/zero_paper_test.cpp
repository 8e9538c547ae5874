// The ZeRO paper's table: its example, and limits in which one stage is another.
#include "workloads/estimates/forms/zero_paper.hpp"

#include <catch2/catch.hpp>

#include "tests/workloads/estimates/forms/estimated_plan.hpp"
#include "workloads/estimates/forms/four_n.hpp"
#include "workloads/plan/training_plan.hpp"

using namespace highwater;
using test::estimated_plan;
using test::form_named;
using test::inputs_of;

TEST_CASE("estimates: the ZeRO paper's example of 7.5e9 parameters on 64 GPUs",
          "[workloads][estimates]") {
  CHECK(zero_paper(7.5e9, 64, ZeroStage::replicated).bytes() == 120e9);
  CHECK(zero_paper(7.5e9, 64, ZeroStage::one).bytes() == Approx(31.40625e9));
  CHECK(zero_paper(7.5e9, 64, ZeroStage::two).bytes() == Approx(16.640625e9));
  CHECK(zero_paper(7.5e9, 64, ZeroStage::three).bytes() == Approx(1.875e9));
}

TEST_CASE("estimates: one rank shares nothing, and stage 3 falls with the ranks",
          "[workloads][estimates]") {
  const double replicated = zero_paper(1e9, 1, ZeroStage::replicated).bytes();
  CHECK(replicated == four_n(1e9).bytes());
  for (const auto stage : {ZeroStage::one, ZeroStage::two, ZeroStage::three}) {
    CHECK(zero_paper(1e9, 1, stage).bytes() == replicated);
  }
  for (const double ranks : {2.0, 8.0, 64.0}) {
    CHECK(zero_paper(1e9, ranks, ZeroStage::three).bytes() == Approx(replicated / ranks));
    CHECK(zero_paper(1e9, ranks, ZeroStage::two).bytes() <
          zero_paper(1e9, ranks, ZeroStage::one).bytes());
  }
}

TEST_CASE("estimates: the ZeRO paper's row takes the stage from the plan",
          "[workloads][estimates]") {
  TrainingPlan plan = estimated_plan("gpt2");
  plan.parallel.dp = 4;
  const auto bytes = [&](DataParallel kind) {
    plan.parallel.dp_kind = kind;
    return form_named("zero-paper").evaluate(inputs_of(plan, 4)).bytes();
  };
  const double p = 124439808;
  CHECK(bytes(DataParallel::ddp) == 16 * p);
  CHECK(bytes(DataParallel::zero1) == 7 * p);
  CHECK(bytes(DataParallel::zero2) == 5.5 * p);
  CHECK(bytes(DataParallel::zero3) == 4 * p);
  CHECK(bytes(DataParallel::fsdp2) == 4 * p);
}
