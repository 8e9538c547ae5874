// Stages of a pipeline: who holds what, what is in flight, and in which order schedules need
// memory.
#include <catch2/catch.hpp>

#include "tests/workloads/megatron/megatron_plans.hpp"
#include "workloads/megatron/pipeline_stage.hpp"
#include "workloads/plan/model/families/families.hpp"
#include "workloads/plan/training_plan.hpp"

using namespace highwater;
using namespace highwater::testing;

namespace {

constexpr std::int64_t kLayers = 8;
constexpr std::int64_t kBoundary = 2 * kSeq * kBatch * kHidden;  ///< bytes between stages

TrainingPlan plan_of(int stages, int stage, int micro_batches,
                     PipelineSchedule schedule = PipelineSchedule::one_f_one_b) {
  TrainingPlan plan =
      megatron_plan(small_llama(kLayers), {.pp = stages, .schedule = schedule, .rank = stage});
  plan.grad_accum = micro_batches;
  return plan;
}

std::int64_t parameters_of(const TrainingPlan& plan) {
  return live_at(plan, 0, "zero_grad", Category::parameter) / 2;
}

/// Bytes that micro-batches add to the states at most.
std::int64_t activations_of(const TrainingPlan& plan) {
  const Walk walk(generate(plan));
  return walk.peak - walk.live;
}

std::int64_t count(const RequestTrace& trace, std::int64_t bytes) {
  std::int64_t found = 0;
  for (const Event& event : trace.events) {
    found += event.kind == EventKind::alloc && static_cast<std::int64_t>(event.value) == bytes;
  }
  return found;
}

}  // namespace

TEST_CASE("stages: together they hold the model once", "[workloads][pipeline]") {
  const std::int64_t whole = parameters_of(plan_of(1, 0, 4));
  for (const int stages : {2, 4}) {
    std::int64_t sum = 0;
    for (int stage = 0; stage < stages; ++stage) {
      sum += parameters_of(plan_of(stages, stage, 4));
    }
    CHECK(sum == whole);
  }
}

// Embedding and head have 1024 rows each; the last norm is with the head.
TEST_CASE("stages: the first has the embedding, the last the head", "[workloads][pipeline]") {
  const std::int64_t inner = parameters_of(plan_of(4, 1, 4));
  CHECK(parameters_of(plan_of(4, 2, 4)) == inner);
  CHECK(parameters_of(plan_of(4, 0, 4)) == inner + 1024 * kHidden);
  CHECK(parameters_of(plan_of(4, 3, 4)) == inner + 1024 * kHidden + kHidden);
}

TEST_CASE("stages: a tied head is a second copy on the last one", "[workloads][pipeline]") {
  const auto tied = [](int stages, int stage) {
    TrainingPlan plan = plan_of(stages, stage, 2);
    plan.model.config.as<LlamaConfig>().tie_word_embeddings = true;
    return parameters_of(plan);
  };
  CHECK(tied(2, 0) + tied(2, 1) == tied(1, 0) + 1024 * kHidden);
}

// 1F1B keeps min(m, p - r) micro-batches on stage r; what one of them keeps is the same on all
// inner stages.
TEST_CASE("1F1B: stage r of p has min(m, p - r) micro-batches in flight", "[workloads][pipeline]") {
  constexpr int kStages = 4;
  for (const int micro_batches : {1, 2, 4, 8}) {
    std::vector<std::int64_t> needed;
    for (int stage = 1; stage <= 2; ++stage) {
      needed.push_back(activations_of(plan_of(kStages, stage, micro_batches)));
    }
    const int first = std::min(micro_batches, kStages - 1);
    const int second = std::min(micro_batches, kStages - 2);
    const std::int64_t one =
        activations_of(plan_of(kStages, 1, 2)) - activations_of(plan_of(kStages, 1, 1));
    CAPTURE(micro_batches, one);
    CHECK(one > kBoundary);
    CHECK(needed[0] - needed[1] == (first - second) * one);
  }
}

TEST_CASE("stages: an output that was sent shrinks to one element", "[workloads][pipeline]") {
  constexpr int kMicroBatches = 4;
  TrainingPlan plan = plan_of(4, 1, kMicroBatches);
  plan.steps = 1;
  // Nothing else of two bytes is made: an output of each micro-batch.
  CHECK(count(generate(plan), 2) == kMicroBatches);
  plan.parallel.rank = 3;  // keeps its loss
  CHECK(count(generate(plan), 2) == 0);
}

TEST_CASE("stages: one stage changes nothing", "[workloads][pipeline]") {
  TrainingPlan plan = megatron_plan(small_llama());
  plan.grad_accum = 2;
  const Walk without(generate(plan));
  plan.parallel.schedule = PipelineSchedule::gpipe;
  const Walk with(generate(plan));
  CHECK(without.steps == with.steps);
}

TEST_CASE("stages: steps repeat whatever the schedule", "[workloads][pipeline]") {
  for (const PipelineSchedule schedule :
       {PipelineSchedule::naive, PipelineSchedule::gpipe, PipelineSchedule::one_f_one_b,
        PipelineSchedule::interleaved}) {
    for (int stage = 0; stage < 2; ++stage) {
      TrainingPlan plan = plan_of(2, stage, 4, schedule);
      plan.steps = 4;
      const Walk walk(generate(plan));
      CAPTURE(stage);
      CHECK(walk.steps[2] == walk.steps[3]);
    }
  }
}

TEST_CASE("schedules: naive needs least, GPipe most", "[workloads][pipeline]") {
  for (int stage = 0; stage < 4; ++stage) {
    const auto peak = [&](PipelineSchedule schedule) {
      return peak_of(plan_of(4, stage, 8, schedule));
    };
    const std::int64_t naive = peak(PipelineSchedule::naive);
    const std::int64_t alternating = peak(PipelineSchedule::one_f_one_b);
    const std::int64_t lazy = peak(PipelineSchedule::gpipe);
    CAPTURE(stage);
    CHECK(naive <= alternating);
    CHECK(alternating < lazy);
  }
}

TEST_CASE("stages: with other axes they still run", "[workloads][pipeline]") {
  for (int rank = 0; rank < 16; ++rank) {
    TrainingPlan plan = megatron_plan(small_mixtral(4), {.dp = 2,
                                                         .dp_kind = DataParallel::zero1,
                                                         .tp = 2,
                                                         .sequence_parallel = true,
                                                         .pp = 2,
                                                         .cp = 2,
                                                         .ep = 2,
                                                         .rank = rank});
    plan.grad_accum = 4;
    const Walk walk(generate(plan));
    CHECK(walk.steps[1] == walk.steps[2]);
  }
}
