// A pipeline stage that has only the embedding, or only the head, has no experts to spread.
#include <catch2/catch.hpp>

#include "tests/support/plan_words.hpp"
#include "workloads/plan/training_plan.hpp"
#include "workloads/training/generate.hpp"

using namespace highwater;

TEST_CASE("megatron: a stage without experts trains along", "[workloads][megatron]") {
  TrainingPlan plan = test::plan_of_words(
      "model=mixtral-8x7b precision=bf16 framework=megatron dp=8 dp-kind=zero1 ep=8 pp=24 "
      "grad-accum=4 steps=1");
  for (const int stage : {0, 23}) {
    plan.parallel.rank = stage * plan.parallel.dp;
    CAPTURE(stage);
    CHECK(generate(plan).allocation_count > 0);
  }
}
