// Passes of a pipeline that are written down instead of carried out are the same, event for event.
#include "workloads/megatron/repeated_passes.hpp"

#include <catch2/catch.hpp>

#include "tests/support/plan_words.hpp"
#include "tests/support/trace_equality.hpp"
#include "workloads/plan/training_plan.hpp"
#include "workloads/training/generate.hpp"

using namespace highwater;

TEST_CASE("repeated passes: the trace is that of every pass carried out", "[workloads]") {
  const char* const options = GENERATE(
      "grad-accum=8 framework=megatron pp=2 pp-schedule=1f1b",
      "grad-accum=8 framework=megatron pp=4 pp-schedule=interleaved pp-chunks=3 checkpoint=full",
      "grad-accum=8 framework=megatron pp=2 pp-schedule=interleaved pp-chunks=2 tp=2 sp=true "
      "checkpoint=selective-attention",
      "grad-accum=8 framework=megatron pp=2 dp=2 cp=2 dp-kind=zero1 overlap-grad-reduce=true "
      "overlap-param-gather=true",
      "grad-accum=8 framework=megatron pp=4 pp-schedule=interleaved pp-chunks=2 checkpoint=every-2 "
      "steps=2 dropout=0.1",
      "grad-accum=8 framework=megatron model=mixtral-small pp=2 dp=2 ep=2",
      "grad-accum=8 framework=megatron torch=2.6 pp=4 precision=fp16",
      "grad-accum=8 framework=nemo pp=2 pp-schedule=interleaved pp-chunks=2 tp=2 sp=true",
      "grad-accum=6 framework=megatron pp=3 model=gpt2");
  TrainingPlan plan = test::plan_of_words(options);
  CAPTURE(options);
  for (int rank = 0; rank < plan.parallel.gpus(); ++rank) {
    plan.parallel.rank = rank;
    CAPTURE(rank);
    CHECK(test::same(generate(plan), generate_step_by_step(plan)));
  }
}
