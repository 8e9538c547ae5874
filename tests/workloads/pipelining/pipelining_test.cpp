// Pipelines of torch.distributed.pipelining: who holds what, which buffers stay, what is in flight.
#include <algorithm>
#include <numeric>
#include <string>

#include <catch2/catch.hpp>

#include "tests/support/recorded_releases.hpp"
#include "tests/support/step_requests.hpp"
#include "tests/workloads/pipelining/small_sizes.hpp"
#include "workloads/plan/model/families/families.hpp"
#include "workloads/plan/pipeline/model_split.hpp"
#include "workloads/plan/pipeline/torch_schedule.hpp"
#include "workloads/plan/rules/plan_problems.hpp"
#include "workloads/plan/training_plan.hpp"
#include "workloads/training/generate.hpp"
#include "workloads/training/parameters.hpp"

using namespace highwater;
using dist::most_in_flight;
using dist::PipelineAction;
using dist::PipelineJob;
using distributed_runs::requests_of;
using pipelining::layers_of_stages;
using pipelining::torch_schedule;

namespace {

constexpr std::int64_t kBoundary = 4 * kBatch * kSeq * kHidden;  ///< bytes between stages, fp32

/// "i0 f0 o0 g0 b0": input, forward, output sent, gradient, backward; ".1" for chunk 1.
std::string text(const std::vector<PipelineAction>& actions) {
  constexpr std::string_view kLetters = "ifogb";
  std::string line;
  for (const PipelineAction& action : actions) {
    line += line.empty() ? "" : " ";
    line += kLetters[static_cast<std::size_t>(action.step)];
    line += std::to_string(action.micro_batch);
    line += action.chunk > 0 ? "." + std::to_string(action.chunk) : "";
  }
  return line;
}

TrainingPlan plan_of(int stages, int stage, int micro_batches,
                     PipelineSchedule schedule = PipelineSchedule::one_f_one_b) {
  TrainingPlan plan;
  plan.versions = test::kRecordedReleases;
  plan.model = {"small", "a test",
                LlamaConfig{.vocab_size = kVocab,
                            .hidden_size = kHidden,
                            .intermediate_size = 96,
                            .num_hidden_layers = 8,
                            .num_attention_heads = 4,
                            .num_key_value_heads = 2}};
  plan.batch = kBatch;
  plan.seq = {kSeq};
  plan.steps = 3;
  plan.grad_accum = micro_batches;
  plan.parallel.pp = stages;
  plan.parallel.rank = stage;
  plan.parallel.schedule = schedule;
  return plan;
}

std::int64_t parameters_over_stages(TrainingPlan plan) {
  std::int64_t sum = 0;
  for (plan.parallel.rank = 0; plan.parallel.rank < plan.parallel.pp; ++plan.parallel.rank) {
    sum += trainable_elements(plan);
  }
  return sum;
}

/// Blocks of the size that stages hand on that are there after the last step.
std::int64_t boundary_blocks_left(const TrainingPlan& plan) {
  const RequestTrace trace = generate(plan);
  std::vector<std::int64_t> bytes;
  std::int64_t left = 0;
  for (const Event& event : trace.events) {
    if (event.kind == EventKind::alloc) {
      bytes.push_back(static_cast<std::int64_t>(event.value));
      left += bytes.back() == kBoundary ? 1 : 0;
    } else if (event.kind == EventKind::free) {
      left -= bytes[event.allocation.index()] == kBoundary ? 1 : 0;
    }
  }
  return left;
}

/// The largest sum of requested bytes.
std::int64_t peak_of(const TrainingPlan& plan) {
  const RequestTrace trace = generate(plan);
  std::vector<std::int64_t> bytes;
  std::int64_t now = 0;
  std::int64_t peak = 0;
  for (const Event& event : trace.events) {
    if (event.kind == EventKind::alloc) {
      bytes.push_back(static_cast<std::int64_t>(event.value));
      peak = std::max(peak, now += bytes.back());
    } else if (event.kind == EventKind::free) {
      now -= bytes[event.allocation.index()];
    }
  }
  return peak;
}

}  // namespace

TEST_CASE("pipelining: stages behind the first take what is left over", "[workloads][pipeline]") {
  CHECK(layers_of_stages(8, 4) == std::vector<std::int64_t>{2, 2, 2, 2});
  CHECK(layers_of_stages(7, 4) == std::vector<std::int64_t>{1, 2, 2, 2});
  CHECK(layers_of_stages(5, 2) == std::vector<std::int64_t>{2, 3});
  CHECK(layers_of_stages(6, 4) == std::vector<std::int64_t>{1, 2, 2, 1});
  std::vector<std::int64_t> large(16, 8);  // llama-3.1-405b: 126 = 7 + 14 * 8 + 7
  large.front() = large.back() = 7;
  CHECK(layers_of_stages(126, 16) == large);
}

TEST_CASE("pipelining: chunk c of rank s is stage c * ranks + s", "[workloads][pipeline]") {
  const auto parts = pipelining::parts_of_stage(9, 2, 1, 2);  // 2, 3, 2, 2
  REQUIRE(parts.size() == 2);
  CHECK(parts[0] == nn::ModelPart{2, 3, false, false, 0});
  CHECK(parts[1] == nn::ModelPart{7, 2, false, true, 3});
}

TEST_CASE("pipelining: schedules by hand", "[workloads][pipeline]") {
  const PipelineJob first{.stages = 2, .stage = 0, .micro_batches = 3};
  const PipelineJob last{.stages = 2, .stage = 1, .micro_batches = 3};
  CHECK(text(torch_schedule(PipelineSchedule::gpipe, first)) ==
        "f0 o0 f1 o1 f2 o2 g0 b0 g1 b1 g2 b2");
  CHECK(text(torch_schedule(PipelineSchedule::one_f_one_b, first)) ==
        "f0 o0 f1 o1 g0 b0 f2 o2 g1 b1 g2 b2");
  CHECK(text(torch_schedule(PipelineSchedule::one_f_one_b, last)) == "i0 f0 b0 i1 f1 b1 i2 f2 b2");
  // Two rounds of two micro-batches; warm-up 2 + 2 * (2 - 1 - 1) = 2 forwards.
  CHECK(text(torch_schedule(PipelineSchedule::interleaved,
                            {.stages = 2, .stage = 1, .micro_batches = 4, .chunks = 2})) ==
        "i0 f0 o0 i1 f1 o1 "
        "i0.1 f0.1 b0.1 i1.1 f1.1 b1.1 "
        "i2 f2 o2 g0 b0 i3 f3 o3 g1 b1 "
        "i2.1 f2.1 b2.1 i3.1 f3.1 b3.1 "
        "g2 b2 g3 b3");
}

TEST_CASE("pipelining: micro-batches in flight", "[workloads][pipeline]") {
  constexpr int kStages = 4;
  for (const int micro_batches : {1, 2, 4, 8}) {
    for (int stage = 0; stage < kStages; ++stage) {
      const PipelineJob job{.stages = kStages, .stage = stage, .micro_batches = micro_batches};
      CHECK(most_in_flight(torch_schedule(PipelineSchedule::gpipe, job)) == micro_batches);
      CHECK(most_in_flight(torch_schedule(PipelineSchedule::one_f_one_b, job)) ==
            std::min(micro_batches, kStages - stage));
    }
  }
  // (chunks - 1) * 4 + 2 * (4 - 1 - r) forwards and one more.
  for (int stage = 0; stage < kStages; ++stage) {
    const PipelineJob job{.stages = kStages, .stage = stage, .micro_batches = 8, .chunks = 2};
    CHECK(most_in_flight(torch_schedule(PipelineSchedule::interleaved, job)) ==
          4 + 2 * (3 - stage) + 1);
  }
}

TEST_CASE("pipelining: stages hold the model once, a tied head twice", "[workloads][pipeline]") {
  const std::int64_t whole = trainable_elements(plan_of(1, 0, 4));
  CHECK(parameters_over_stages(plan_of(2, 0, 4)) == whole);
  CHECK(parameters_over_stages(plan_of(4, 0, 4)) == whole);
  CHECK(parameters_over_stages(plan_of(2, 0, 4, PipelineSchedule::interleaved)) == whole);
  TrainingPlan tied = plan_of(4, 0, 4);
  tied.model.config.as<LlamaConfig>().tie_word_embeddings = true;
  CHECK(parameters_over_stages(tied) == whole);  // which is untied
}

// Two buffers, the output and the gradient of the input: inner stages have all four for each
// micro-batch, the first and the last one two (the last one's outputs are logits).
TEST_CASE("pipelining: buffers, outputs and gradients stay between steps",
          "[workloads][pipeline]") {
  constexpr int kMicroBatches = 4;
  CHECK(boundary_blocks_left(plan_of(4, 0, kMicroBatches)) == 2 * kMicroBatches);
  CHECK(boundary_blocks_left(plan_of(4, 1, kMicroBatches)) == 4 * kMicroBatches);
  CHECK(boundary_blocks_left(plan_of(4, 3, kMicroBatches)) == 2 * kMicroBatches);
  // Stages 1 and 3 of four.
  CHECK(boundary_blocks_left(plan_of(2, 1, kMicroBatches, PipelineSchedule::interleaved)) ==
        6 * kMicroBatches);
}

TEST_CASE("pipelining: what stays between steps, by release", "[workloads][pipeline]") {
  constexpr int kMicroBatches = 4;
  const auto left = [](const char* torch, int stage) {
    TrainingPlan plan = plan_of(4, stage, kMicroBatches);
    plan.versions.torch = torch;
    return boundary_blocks_left(plan);
  };
  CHECK(left("2.8", 1) == 3 * kMicroBatches);   // without the outputs
  CHECK(left("2.10", 1) == 2 * kMicroBatches);  // nor the gradients that were sent
  CHECK(left("2.15", 0) == 0);
  CHECK(left("2.15", 1) == 0);
  CHECK(left("2.15", 3) == kMicroBatches);  // the losses' graph holds the inputs
}

// Since 2.12 the trial's activations wait for its backward, which computes no gradient of a
// parameter: the first step has the requests of one more forward and fewer than one more backward.
TEST_CASE("pipelining: since 2.12 a backward pass finds out shapes, too", "[workloads][pipeline]") {
  const auto first_step = [](const char* torch, int stage) {
    TrainingPlan plan = plan_of(2, stage, 2);
    plan.versions.torch = torch;
    plan.steps = 1;
    return requests_of(generate(plan), 0).size();
  };
  CHECK(first_step("2.12", 1) > first_step("2.11", 1));
  const auto parameters = [](const char* torch) {
    TrainingPlan plan = plan_of(2, 1, 2);
    plan.versions.torch = torch;
    plan.steps = 1;
    const auto requests = requests_of(generate(plan), 0);
    return std::ranges::count(requests, 4 * kVocab * kHidden);
  };
  CHECK(parameters("2.12") == parameters("2.11"));  // of the head: no gradient more
}

// What a micro-batch more adds: on an inner stage of GPipe its activations and four tensors at the
// boundary (two buffers, the kept output, the gradient of the input).
TEST_CASE("pipelining: 1F1B keeps outputs and buffers of all micro-batches, activations of some",
          "[workloads][pipeline]") {
  const auto step = [](PipelineSchedule schedule) {
    return peak_of(plan_of(4, 2, 8, schedule)) - peak_of(plan_of(4, 2, 7, schedule));
  };
  const std::int64_t tokens = 2 * 8 * kBatch * kSeq;  // of the batch, on every rank
  // Two micro-batches are in flight whatever their number; the last output of the step is made
  // before the peak, the last gradient after it.
  CHECK(step(PipelineSchedule::one_f_one_b) - tokens == 4 * kBoundary);
  CHECK(step(PipelineSchedule::gpipe) - tokens > 10 * kBoundary);
}

TEST_CASE("pipelining: steps repeat", "[workloads][pipeline]") {
  for (const PipelineSchedule schedule :
       {PipelineSchedule::gpipe, PipelineSchedule::one_f_one_b, PipelineSchedule::interleaved}) {
    for (int stage = 0; stage < 2; ++stage) {
      const RequestTrace trace = generate(plan_of(2, stage, 4, schedule));
      CAPTURE(stage);
      CHECK(requests_of(trace, 1) == requests_of(trace, 2));
    }
  }
}

TEST_CASE("pipelining: the schedule of one stage changes nothing", "[workloads][pipeline]") {
  const RequestTrace plain = generate(plan_of(1, 0, 2));
  const RequestTrace other = generate(plan_of(1, 0, 2, PipelineSchedule::gpipe));
  CHECK(requests_of(plain, 2) == requests_of(other, 2));
}

// Three devices hold 2, 3 and 3 blocks. Behind the first one, every block is given a copy of cos
// and one of sin, [1, s, head_dim] each.
TEST_CASE("naive split: tables are copied for every block", "[workloads][pipeline]") {
  constexpr std::int64_t kTable = 4 * kSeq * (kHidden / 4);
  const auto count = [](int device, std::int64_t bytes) {
    TrainingPlan plan = plan_of(3, device, 1, PipelineSchedule::naive);
    plan.steps = 2;
    const auto requests = requests_of(generate(plan), 1);
    return std::ranges::count(requests, bytes);
  };
  CHECK(count(1, kTable) == 2 * 3);
  CHECK(count(2, kTable) == 2 * 3);
  CHECK(parameters_over_stages(plan_of(3, 0, 1, PipelineSchedule::naive)) ==
        trainable_elements(plan_of(1, 0, 1)));
}

TEST_CASE("naive split: a tied head is with the embedding", "[workloads][pipeline]") {
  TrainingPlan tied = plan_of(3, 0, 1, PipelineSchedule::naive);
  tied.model.config.as<LlamaConfig>().tie_word_embeddings = true;
  CHECK(parameters_over_stages(tied) == trainable_elements(plan_of(1, 0, 1)) - kVocab * kHidden);
}

TEST_CASE("pipelining: rules and gaps", "[workloads][pipeline]") {
  TrainingPlan plan = plan_of(2, 0, 5, PipelineSchedule::interleaved);  // two rounds
  CHECK(plan_problems(plan).size() == 1);
  plan.grad_accum = 3;  // one round of three
  CHECK(plan_problems(plan).empty());
  plan.seq = {40, 48, 40};
  CHECK(plan_problems(plan).size() == 1);
  plan = plan_of(2, 0, 2);
  CHECK(generator_gaps(plan).empty());
  plan.precision = Precision::amp_bf16;
  CHECK(generator_gaps(plan).size() == 1);
}
