// A run of many micro-batches made of two short ones is the run itself, event for event.
#include "workloads/training/more_rounds.hpp"

#include <algorithm>
#include <cstdint>
#include <set>
#include <utility>

#include <catch2/catch.hpp>

#include "tests/support/plan_words.hpp"
#include "tests/support/trace_equality.hpp"
#include "workloads/plan/training_plan.hpp"
#include "workloads/training/generate.hpp"
#include "workloads/training/ranks.hpp"

using namespace highwater;
using test::plan_of_words;

namespace {

TrainingPlan with(TrainingPlan plan, int micro_batches) {
  plan.grad_accum = micro_batches;
  return plan;
}

/// Whether the plan's events are those of a run of `fewer` micro-batches with rounds repeated;
/// nothing where they cannot be.
std::optional<bool> is_made_of(const TrainingPlan& plan, int fewer, int round) {
  const RequestTrace trace = generate_step_by_step(with(plan, fewer));
  const auto forwards = forwards_of_micro_batch(trace, fewer);
  REQUIRE(forwards);
  const auto rounds = repeated_rounds(trace, *forwards * static_cast<std::size_t>(round),
                                      static_cast<std::size_t>((plan.grad_accum - fewer) / round));
  return rounds ? std::optional(is_lengthened(trace, *rounds, generate_step_by_step(plan)))
                : std::nullopt;
}

}  // namespace

TEST_CASE("more rounds: steps of many micro-batches are made of short runs", "[workloads]") {
  const char* const options = GENERATE(
      "grad-accum=24", "grad-accum=24 torch=2.6 transformers=5.12",
      "grad-accum=24 checkpoint=full precision=fp32 steps=2",
      "grad-accum=24 dp=2 dp-kind=ddp no-sync=true", "grad-accum=24 dp=4 dp-kind=fsdp2",
      "grad-accum=24 dp=2 dp-kind=zero2 framework=deepspeed",
      "grad-accum=24 dp=2 dp-kind=zero1 framework=megatron tp=2 sp=true",
      "grad-accum=64 framework=megatron pp=2", "grad-accum=64 framework=megatron pp=4 rank=2",
      "grad-accum=64 framework=megatron pp=2 pp-schedule=interleaved pp-chunks=3 rank=1",
      "grad-accum=64 torch=2.6 framework=megatron pp=2 pp-schedule=interleaved pp-chunks=3",
      "grad-accum=24 lora-rank=8", "grad-accum=24 dp=2 dp-kind=fsdp2 framework=torchtitan");
  const TrainingPlan plan = plan_of_words(options);
  CAPTURE(options);
  const auto runs = short_runs(plan);
  REQUIRE(runs);
  CHECK(is_made_of(plan, runs->fewer, runs->round) == true);
  CHECK(test::same(generate(plan), generate_step_by_step(plan)));
}

// Four ranks of each of two stages, with shards of different sizes.
TEST_CASE("more rounds: a rank shows what the other ranks of its stage repeat", "[workloads]") {
  const TrainingPlan plan = plan_of_words(
      "grad-accum=64 framework=megatron dp=4 dp-kind=zero1 pp=2 pp-schedule=interleaved "
      "pp-chunks=3");
  ShownShapes shown;
  std::set<std::uint64_t> shapes;
  for (int rank = 0; rank < plan.parallel.gpus(); ++rank) {
    TrainingPlan of_rank = plan;
    of_rank.parallel.rank = rank;
    auto compact = generate_within(of_rank, Bytes{UINT64_MAX}, shown);
    REQUIRE(compact);
    shapes.insert(shape_of_events(compact->trace));
    RunEvents events = lengthened(compact->trace, compact->rounds);
    compact->trace.events = std::move(events.events);
    compact->trace.allocation_count = events.allocation_count;
    CAPTURE(rank);
    CHECK(test::same(compact->trace, generate_step_by_step(of_rank)));
  }
  CHECK(shapes.size() < static_cast<std::size_t>(plan.parallel.gpus()));
  CHECK(std::ranges::all_of(shapes, [&](std::uint64_t shape) { return shown.contains(shape); }));
}

TEST_CASE("more rounds: a step that loads all its batches first is carried out", "[workloads]") {
  const TrainingPlan plan = plan_of_words("grad-accum=24 framework=trainer");
  CHECK(test::same(generate(plan), generate_step_by_step(plan)));
}

TEST_CASE("more rounds: what grows with the number of micro-batches is not made of short runs",
          "[workloads][long]") {
  const char* const options =
      GENERATE("grad-accum=32 pp=2 pp-schedule=gpipe", "grad-accum=32 pp=2 pp-schedule=1f1b",
               "grad-accum=64 pp=2 pp-schedule=interleaved pp-chunks=2",
               "grad-accum=24 framework=trl-sft", "grad-accum=24 framework=accelerate-fsdp2",
               "grad-accum=24 framework=torchtune", "grad-accum=24 dp=2 dp-kind=fsdp1 no-sync=true",
               "grad-accum=24 offload=activations", "grad-accum=24 framework=lightning");
  CAPTURE(options);
  const TrainingPlan plan = plan_of_words(options);
  for (int rank = 0; rank < plan.parallel.pp; ++rank) {
    TrainingPlan of_rank = plan;
    of_rank.parallel.rank = rank;
    const GeneratedRun run = generate_run(of_rank);
    CHECK(test::same(run.trace, generate_step_by_step(of_rank)));
  }
}

TEST_CASE("more rounds: few micro-batches, several lengths and delayed events are carried out",
          "[workloads]") {
  CHECK_FALSE(short_runs(plan_of_words("grad-accum=8")));
  CHECK_FALSE(short_runs(plan_of_words("grad-accum=32 framework=megatron pp=4")));
  CHECK_FALSE(short_runs(plan_of_words("grad-accum=64 seq=64,128")));
  CHECK_FALSE(short_runs(plan_of_words("grad-accum=64 dp=2 dp-kind=ddp event-lag=3")));
}
