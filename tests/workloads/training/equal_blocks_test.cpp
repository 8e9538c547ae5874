// Equal blocks that a plan asks for together are one event of a compact trace: what they take is
// what the plan takes that asks for each, and their number does not count.
#include <limits>
#include <string>

#include <catch2/catch.hpp>

#include "allocator/settings/version.hpp"
#include "sim/replay/compact_replay.hpp"
#include "sim/replay/phase_peaks.hpp"
#include "tests/support/plan_words.hpp"
#include "workloads/plan/training_plan.hpp"
#include "workloads/training/generate.hpp"

using namespace highwater;

namespace {

constexpr const char* kZero3 = "framework=deepspeed dp-kind=zero3 precision=bf16 steps=2";
constexpr const char* kScattered = "framework=accelerate-fsdp2 dp-kind=fsdp2 steps=2";

CompactTrace trace_of_equal(const TrainingPlan& plan) {
  ShownShapes shown;
  return generate_within(plan, Bytes{std::numeric_limits<std::uint64_t>::max()}, shown).value();
}

TrainingPlan plan_of(const std::string& words, int ranks) {
  return test::plan_of_words(words + " dp=" + std::to_string(ranks));
}

}  // namespace

TEST_CASE("equal blocks: the peaks of a plan are those of its single requests", "[workloads]") {
  const std::string words = GENERATE(as<std::string>(), kZero3, kScattered);
  const int ranks = GENERATE(3, 700);
  const char* const version = GENERATE("2.6", "2.12", "2.15");
  const TrainingPlan plan = plan_of(words, ranks);
  CAPTURE(words, ranks, version);
  ReplayOptions options;
  options.version = &version_preset(version);
  const PhasedReplay single = replay_with_phases(generate(plan), options);
  const CompactPeaks joined = replay_compact_peaks(trace_of_equal(plan), options);
  CHECK(joined.peak == single.result.peak);
  CHECK(joined.at_peak == single.peaks.run.at_peak);
}

TEST_CASE("equal blocks: ten times as many ranks make no ten times as many requests",
          "[workloads]") {
  for (const char* const words : {kZero3, kScattered}) {
    CAPTURE(words);
    const std::size_t few = trace_of_equal(plan_of(words, 4000)).trace.events.size();
    const std::size_t many = trace_of_equal(plan_of(words, 40000)).trace.events.size();
    CHECK(many < 3 * few);
  }
}
