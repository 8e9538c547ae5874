// Pipeline schedules: small ones by hand, and what holds for all of them.
#include "workloads/plan/pipeline/megatron_schedule.hpp"

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <string_view>

#include <catch2/catch.hpp>

using namespace highwater;
using namespace highwater::dist;

namespace {

/// "i0 f0 o0 g0 b0": inputs, forwards, outputs released, gradients, backwards; ".1" for chunk 1.
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

std::string text(PipelineSchedule schedule, const PipelineJob& job) {
  return text(megatron_schedule(schedule, job));
}

// Every buffer exists before it is used, everything happens once, and nothing is left behind.
void check_sound(const std::vector<PipelineAction>& actions, const PipelineJob& job) {
  std::map<std::pair<int, int>, std::set<PipelineStep>> done;
  for (const PipelineAction& action : actions) {
    auto& steps = done[{action.micro_batch, action.chunk}];
    const bool is_first = job.stage == 0 && action.chunk == 0;
    const bool is_last = job.stage == job.stages - 1 && action.chunk == job.chunks - 1;
    REQUIRE(steps.insert(action.step).second);
    if (action.step == PipelineStep::forward) {
      CHECK(steps.contains(PipelineStep::receive_input) != is_first);
    }
    if (action.step == PipelineStep::backward) {
      CHECK(steps.contains(PipelineStep::forward));
      CHECK(steps.contains(PipelineStep::receive_gradient) != is_last);
      CHECK(steps.contains(PipelineStep::release_output) != is_last);
    }
  }
  CHECK(done.size() == static_cast<std::size_t>(job.micro_batches * job.chunks));
  for (const auto& [unit, steps] : done) {
    CHECK(steps.contains(PipelineStep::backward));
  }
}

}  // namespace

TEST_CASE("pipeline schedule: small ones by hand", "[workloads][pipeline]") {
  const PipelineJob first{.stages = 2, .stage = 0, .micro_batches = 2};
  const PipelineJob last{.stages = 2, .stage = 1, .micro_batches = 2};
  CHECK(text(PipelineSchedule::naive, first) == "f0 o0 g0 b0 f1 o1 g1 b1");
  CHECK(text(PipelineSchedule::gpipe, first) == "f0 o0 f1 o1 g0 b0 g1 b1");
  CHECK(text(PipelineSchedule::gpipe, last) == "i0 f0 i1 f1 b0 b1");
  CHECK(text(PipelineSchedule::one_f_one_b, first) == "f0 o0 f1 g0 o1 b0 g1 b1");
  CHECK(text(PipelineSchedule::one_f_one_b, last) == "i0 f0 b0 i1 f1 b1");
  const PipelineJob middle{.stages = 3, .stage = 1, .micro_batches = 3};
  CHECK(text(PipelineSchedule::one_f_one_b, middle) ==
        "i0 f0 o0 i1 f1 g0 o1 b0 i2 f2 g1 o2 b1 g2 b2");
}

// Two stages of two chunks, four micro-batches. Warm-up is (2 - 0 - 1) * 2 + 2 = 4 forwards on the
// first stage, 2 on the last.
TEST_CASE("pipeline schedule: interleaved by hand", "[workloads][pipeline]") {
  const PipelineJob last{.stages = 2, .stage = 1, .micro_batches = 2, .chunks = 2};
  CHECK(text(PipelineSchedule::interleaved, last) ==
        "i0 f0 i1 o0 f1 i0.1 o1 "
        "f0.1 i1.1 b0.1 "
        "f1.1 b1.1 g0 "
        "b0 g1 b1");
  const PipelineJob first{.stages = 2, .stage = 0, .micro_batches = 2, .chunks = 2};
  CHECK(text(PipelineSchedule::interleaved, first) ==
        "f0 o0 f1 i0.1 o1 f0.1 i1.1 o0.1 f1.1 o1.1 g0.1 b0.1 g1.1 b1.1 g0 b0 g1 b1");
}

TEST_CASE("pipeline schedule: whatever the size, every unit runs once with its buffers",
          "[workloads][pipeline]") {
  for (int stages = 1; stages <= 5; ++stages) {
    for (int stage = 0; stage < stages; ++stage) {
      for (int micro_batches = 1; micro_batches <= 11; ++micro_batches) {
        const PipelineJob job{.stages = stages, .stage = stage, .micro_batches = micro_batches};
        CAPTURE(stages, stage, micro_batches);
        const auto eager = megatron_schedule(PipelineSchedule::one_f_one_b, job);
        const auto lazy = megatron_schedule(PipelineSchedule::gpipe, job);
        const auto naive = megatron_schedule(PipelineSchedule::naive, job);
        check_sound(eager, job);
        check_sound(lazy, job);
        check_sound(naive, job);
        CHECK(most_in_flight(eager) == std::min(micro_batches, stages - stage));
        CHECK(most_in_flight(lazy) == micro_batches);
        CHECK(most_in_flight(naive) == 1);
      }
    }
  }
}

TEST_CASE("pipeline schedule: interleaved in flight", "[workloads][pipeline]") {
  for (int stages = 2; stages <= 4; ++stages) {
    for (int chunks = 1; chunks <= 3; ++chunks) {
      for (int groups = 1; groups <= 4; ++groups) {
        for (int stage = 0; stage < stages; ++stage) {
          const PipelineJob job{
              .stages = stages, .stage = stage, .micro_batches = groups * stages, .chunks = chunks};
          CAPTURE(stages, chunks, groups, stage);
          const auto actions = megatron_schedule(PipelineSchedule::interleaved, job);
          check_sound(actions, job);
          const int warm_up = (stages - stage - 1) * 2 + (chunks - 1) * stages;
          CHECK(most_in_flight(actions) == std::min(job.micro_batches * chunks, warm_up + 1));
        }
      }
    }
  }
}
