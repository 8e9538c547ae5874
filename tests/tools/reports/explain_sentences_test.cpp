// The sentences of `explain`: growth either way, few and unsure steps, what a map holds.
#include "tools/reports/explain_sentences.hpp"

#include <catch2/catch.hpp>

using namespace highwater;
using namespace highwater::literals;
using Catch::Matchers::Contains;

namespace {

constexpr double kMebibyte = 1048576;

Explanation with_steps(std::size_t steps, double confidence, GrowthVerdict verdict) {
  Explanation e;
  e.workload.trace = std::make_shared<RequestTrace>();
  e.steps.source = StepSource::markers;
  e.steps.confidence = confidence;
  e.growth.verdict = verdict;
  e.growth.steps.resize(steps);
  return e;
}

OomExplanation failing(Bytes in_use, Bytes requested, Bytes limit) {
  OomExplanation oom;
  oom.in_use = in_use;
  oom.limit = limit;
  oom.state.account.requested = requested;
  return oom;
}

}  // namespace

TEST_CASE("growth lines: no step, one, and two", "[reports][explain]") {
  const auto too_few = GrowthVerdict::too_few_steps;
  CHECK(growth_lines(with_steps(0, 1, too_few), 5) == std::vector<std::string>{"no steps found"});
  CHECK(growth_lines(with_steps(1, 1, too_few), 5) ==
        std::vector<std::string>{"1 step found: too few to show a trend"});
  CHECK(growth_lines(with_steps(2, 1, too_few), 5) ==
        std::vector<std::string>{"2 steps found: too few to show a trend"});
}

TEST_CASE("growth lines: steps are sure from a confidence of 0.2 on", "[reports][explain]") {
  Explanation e = with_steps(9, 0.19, GrowthVerdict::none);
  e.growth.leaks.resize(1);
  CHECK(growth_lines(e, 5) ==
        std::vector<std::string>{"9 steps found by markers, too different from one another to show "
                                 "a trend (confidence 0.19)"});
  e.steps.confidence = 0.2;
  const std::vector<std::string> lines = growth_lines(e, 5);
  REQUIRE(lines.size() == 3);
  CHECK(lines[0] == "9 steps found by markers, confidence 0.20");
  CHECK(lines[1] == "no growth: neither live nor reserved memory grows from step to step");
  CHECK_THAT(lines[2], Contains("left behind by 0 steps"));
}

TEST_CASE("growth lines: each verdict names its own figure", "[reports][explain]") {
  Explanation e = with_steps(9, 1, GrowthVerdict::leak);
  e.growth.end = {2 * kMebibyte, kMebibyte, 3 * kMebibyte};
  e.growth.peak = {20 * kMebibyte, 0, 30 * kMebibyte};
  e.growth.reserved = {40 * kMebibyte, -10 * kMebibyte, 50 * kMebibyte};
  CHECK(growth_lines(e, 5)[1] ==
        "leak: live memory at the end of steps grows by 2.00 MiB per step (1.00 MiB to 3.00 MiB)");
  e.growth.verdict = GrowthVerdict::larger_steps;
  CHECK_THAT(growth_lines(e, 5)[1], Contains("grows by 20.00 MiB per step (0 B to 30.00 MiB)"));
  e.growth.verdict = GrowthVerdict::fragmentation;
  CHECK_THAT(growth_lines(e, 5)[1],
             Contains("grows by 40.00 MiB per step (-10.00 MiB to 50.00 MiB)"));
}

TEST_CASE("growth lines: the first leaks, and the blocks that wait", "[reports][explain]") {
  Explanation e = with_steps(9, 1, GrowthVerdict::none);
  e.growth.leaks.resize(3);
  e.growth.leaks[0].left = {StackId::none(), 5_MiB, 1};
  e.growth.leaks[0].steps = 4;
  CHECK_THAT(growth_lines(e, 3)[2], Contains("left behind by 4 steps: 5.00 MiB in 1 block,"));
  CHECK(growth_lines(e, 3).size() == 5);
  CHECK(growth_lines(e, 2).size() == 4);
  CHECK(growth_lines(e, 0).size() == 2);
  e.growth.pending.resize(1);
  e.growth.pending_bytes = 3_KiB;
  CHECK(growth_lines(e, 0).back() ==
        "1 block freed but waiting for other streams at the end: 3.00 KiB");
}

TEST_CASE("verdict: what is missing, and never less than nothing", "[reports][explain]") {
  Explanation e;
  e.oom = failing(80_MiB, 30_MiB, 100_MiB);
  e.oom->most_alive = 110_MiB;
  CHECK(explain_verdict(e) ==
        "OUT OF MEMORY, capacity: 80.00 MiB in use and the 30.00 MiB requested are 10.00 MiB more "
        "than the 100.00 MiB available");
  e.oom->most_alive = 111_MiB;
  CHECK_THAT(explain_verdict(e), Contains("available; later the run has up to 111.00 MiB in use"));
  // The request alone would fit, the run does not.
  e.oom = failing(60_MiB, 40_MiB, 100_MiB);
  e.oom->most_alive = 101_MiB;
  CHECK_THAT(explain_verdict(e), Contains("the run has up to 101.00 MiB in use at once, more than "
                                          "the 100.00 MiB available; the first request"));
  e.oom->most_alive = 100_MiB;
  CHECK_THAT(explain_verdict(e), Contains("are 0 B more"));
}

TEST_CASE("state lines: what empty_cache() can give back is in segments that are free as a whole",
          "[reports][explain]") {
  const auto block = [](Bytes size, BlockState state) {
    return MapBlock{.address = {}, .size = size, .requested = {}, .state = state, .handle = {}};
  };
  Explanation e;
  e.workload.replay.result.final.reserved = 30_MiB;
  MapSegment mixed;
  mixed.size = 20_MiB;
  mixed.blocks = {block(8_MiB, BlockState::active_allocated), block(5_MiB, BlockState::inactive),
                  block(3_MiB, BlockState::active_pending_free),
                  block(4_MiB, BlockState::inactive)};
  MapSegment idle;
  idle.size = 10_MiB;
  idle.blocks = {block(10_MiB, BlockState::inactive)};
  e.workload.replay.result.map.segments = {mixed};
  CHECK_THAT(state_lines(e)[1], Contains("9.00 MiB") && Contains("(largest free block 5.00 MiB)"));
  e.workload.replay.result.map.segments = {mixed, idle};
  const std::vector<std::string> lines = state_lines(e);
  CHECK(lines[0] == "30.00 MiB in 2 segments, with 1 live block");
  CHECK_THAT(lines[1], Contains("free beside live blocks: 9.00 MiB"));
  CHECK_THAT(lines[1], Contains("(largest free block 10.00 MiB)"));
  CHECK_THAT(lines[2], Contains("in segments without live blocks: 10.00 MiB"));
  CHECK_THAT(lines[3], Contains("3.00 MiB"));
}

TEST_CASE("counterfactuals: what comes after the request that succeeds", "[reports][explain]") {
  Explanation e;
  e.oom = failing(80_MiB, 30_MiB, 100_MiB);
  Counterfactual trial;
  trial.kind = Counterfactual::Kind::more_memory;
  trial.bytes = 10_MiB;
  trial.serves = false;
  CHECK(counterfactual_text(e, trial) ==
        "would not have succeeded with 10.00 MiB more memory (110.00 MiB in total)");
  trial.serves = true;
  CHECK_THAT(counterfactual_text(e, trial), Contains("in total); but a later request fails"));
  trial.survives = true;
  trial.peak = Usage{.reserved = 110_MiB};
  CHECK_THAT(counterfactual_text(e, trial),
             Contains("; the rest of the run succeeds as well, peak reserved 110.00 MiB"));
}
