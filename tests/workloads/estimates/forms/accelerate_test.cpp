// Accelerate's phases: values worked out by hand.
#include "workloads/estimates/forms/accelerate.hpp"

#include <catch2/catch.hpp>

#include "tests/workloads/estimates/forms/estimated_plan.hpp"
#include "workloads/plan/training_plan.hpp"

using namespace highwater;
using test::estimated_plan;
using test::form_named;
using test::inputs_of;
using test::without_training;

TEST_CASE("estimates: Accelerate's phases", "[workloads][estimates]") {
  const auto full = accelerate_training(400, AccelerateDtype::float32);
  REQUIRE(full);
  CHECK(full->peak() == 1600);
  const auto half = accelerate_training(400, AccelerateDtype::bfloat16);
  REQUIRE(half);
  CHECK(half->gradients == 600);
  CHECK(half->peak() == 800);
  CHECK_FALSE(accelerate_training(400, AccelerateDtype::int8));
  CHECK_FALSE(accelerate_training(400, AccelerateDtype::int4));
  CHECK(accelerate_inference(400, AccelerateDtype::int4) == 50);
  CHECK(accelerate_training_old(400, AccelerateDtype::int8) == 400);

  TrainingPlan plan = estimated_plan("gpt2");
  plan.precision = Precision::fp32;
  plan.optimizer.master_weights = false;
  const double s = 4 * 124439808.0;
  CHECK(form_named("accelerate").evaluate(inputs_of(plan)).bytes() == 4 * s);
  plan.precision = Precision::amp_bf16;
  CHECK(form_named("accelerate").evaluate(inputs_of(plan)).bytes() == 2 * s);
  CHECK(form_named("accelerate").broken_assumptions(inputs_of(plan)).empty());
  CHECK(form_named("accelerate").evaluate(inputs_of(without_training(plan))).bytes() == s / 2);
}
