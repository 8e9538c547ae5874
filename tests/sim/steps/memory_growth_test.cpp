// MemoryGrowth: growth worked out by hand, leaks by site, frees that wait, and the forecast.
#include "sim/steps/memory_growth.hpp"

#include <string>

#include <catch2/catch.hpp>
#include <fmt/format.h>

#include "tests/support/format_io.hpp"
#include "tests/support/program.hpp"
#include "tests/support/watched_runs.hpp"

using namespace highwater;
using namespace highwater::literals;

namespace {

constexpr double kMiB = 1048576;

ReplayOptions default_options() {
  ReplayOptions options;
  options.version = &version_preset("2.6");
  return options;
}

MemoryGrowth growth_of(const std::string& text, const ReplayOptions& options = default_options()) {
  return test::growth_of(test::parse_text(text), options);
}

std::string alloc(const std::string& name, std::uint64_t mib, const std::string& stack = "") {
  return fmt::format("a {} {} 0{}\n", name, mib << 20U, stack);
}

/// In step k a block of 100 - 2k MiB, then one of 20 + 2k: 120 MiB in all, but no cached block ever
/// fits the second one.
std::string drifting_shapes(int steps) {
  std::string text = "conf \n";
  for (int k = 0; k < steps; ++k) {
    const auto n = static_cast<std::uint64_t>(k);
    text += fmt::format("step {}\n", k) + alloc(fmt::format("y{}", k), 100 - 2 * n) +
            alloc(fmt::format("x{}", k), 20 + 2 * n) + fmt::format("f y{}\nf x{}\n", k, k);
  }
  return text + "step 99\n";
}

/// 1 MiB stays of each step, made at stack 1; stack 2 makes what the next step frees.
std::string leaking(int steps) {
  std::string text = "conf \nframe 0 1 a.py\tkeep\nframe 1 2 a.py\tuse\nstack 1 0\nstack 2 1\n";
  text += alloc("weights", 64);
  for (int k = 0; k < steps; ++k) {
    text += fmt::format("step {}\n", k) + alloc(fmt::format("t{}", k), 30, " @2") +
            alloc(fmt::format("l{}", k), 1, " @1");
    text += k == 0 ? "" : fmt::format("f t{}\n", k - 1);
  }
  return text + "step 99\n";
}

}  // namespace

TEST_CASE("growth: the median of the slopes and Sen's interval", "[sim][growth]") {
  // 0 1 2 30 4: of the ten slopes four lie off; C = 1.96 sqrt(5*4*15/18) = 8.0: ranks 1 to 9.
  const Growth growth = robust_growth({0_B, 1_B, 2_B, 30_B, 4_B});
  CHECK(growth.per_step == 1);
  CHECK(growth.low == -26);
  CHECK(growth.high == 28);
  CHECK_FALSE(growth.grows());
  const Growth exact = robust_growth({5_B, 8_B, 11_B});
  CHECK(exact.per_step == 3);
  CHECK(exact.low == 3);
  CHECK(exact.grows());
  CHECK(robust_growth({9_B, 5_B, 1_B}).per_step == -4);
  CHECK_FALSE(robust_growth({1_B, 2_B}).grows());
}

TEST_CASE("growth: thousands of steps", "[sim][growth]") {
  std::vector<Bytes> values;
  for (std::uint64_t i = 0; i < 5000; ++i) {
    values.emplace_back(7 * i + (i % 3));
  }
  const Growth growth = robust_growth(values);
  CHECK(growth.per_step == Approx(7).epsilon(0.001));
  CHECK(growth.grows());
}

TEST_CASE("growth: a leak, by the stack that leaves blocks behind", "[sim][growth]") {
  const MemoryGrowth growth = growth_of(leaking(7));
  CHECK(growth.verdict == GrowthVerdict::leak);
  CHECK(growth.examined == std::vector<std::size_t>{1, 2, 3, 4, 5, 6});
  CHECK(growth.end.per_step == Approx(kMiB));
  CHECK(growth.steps[3].end.allocated == 98_MiB);    // 64 + 30 + 4
  CHECK(growth.steps[3].peak.allocated == 128_MiB);  // and the 30 of the step before
  REQUIRE(growth.leaks.size() == 1);
  CHECK(growth.leaks[0].left.held == 5_MiB);  // of steps 1 to 5, alive when step 6 ends
  CHECK(growth.leaks[0].left.blocks == 5);
  CHECK(growth.leaks[0].steps == 5);
  CHECK(growth.leaks[0].bytes_per_step == kMiB);
  CHECK_FALSE(growth.leaks[0].size.has_value());
}

TEST_CASE("growth: a leak without call stacks is named by its size", "[sim][growth]") {
  std::string text = "conf \n";
  for (int k = 0; k < 5; ++k) {
    text += fmt::format("step {0}\na t{0} 9000 0\na l{0} 512 0\nf t{0}\n", k);
  }
  const MemoryGrowth growth = growth_of(text + "step 5\n");
  CHECK(growth.verdict == GrowthVerdict::leak);
  REQUIRE(growth.leaks.size() == 1);
  CHECK(growth.leaks[0].size == 512_B);
}

TEST_CASE("growth: shapes that vary make reserved grow, and when it reaches a limit",
          "[sim][growth]") {
  // Reserved after step k: 100 + 20 (k+1) + k (k+1) MiB. The slope between steps i and j is
  // 21 + i + j: over the steps 1 to 7 29 in the middle; ranks 2 and 17 of 21: 26 and 32.
  const MemoryGrowth growth = growth_of(drifting_shapes(8));
  CHECK(growth.verdict == GrowthVerdict::fragmentation);
  CHECK(growth.steps[7].peak.reserved == 316_MiB);
  CHECK(growth.steps[7].peak.allocated == 120_MiB);
  CHECK(growth.reserved.per_step == Approx(29 * kMiB));
  CHECK(growth.reserved.low == Approx(26 * kMiB));
  CHECK(growth.reserved.high == Approx(32 * kMiB));
  CHECK(growth.leaks.empty());
  // Of the lines of slope 29 through the seven points the middle one ends at 311 MiB.
  const std::optional<Forecast> forecast = growth.forecast(500_MiB);
  REQUIRE(forecast.has_value());
  CHECK(forecast->steps == Approx(189.0 / 29));
  CHECK(forecast->earliest == Approx(189.0 / 32));
  CHECK(forecast->latest == Approx(189.0 / 26));
  CHECK(growth.forecast(300_MiB)->steps == 0);
}

TEST_CASE("growth: expandable segments take the same shapes without growth", "[sim][growth]") {
  ReplayOptions options = default_options();
  options.settings.expandable_segments = true;
  const MemoryGrowth growth = growth_of(drifting_shapes(8), options);
  CHECK(growth.verdict == GrowthVerdict::none);
  CHECK_FALSE(growth.forecast(500_MiB).has_value());
}

TEST_CASE("growth: reserved that the highest allocated so far explains is not fragmentation",
          "[sim][growth]") {
  // One block per step; the segment expands, in pages of 20 MiB, to the largest so far: reserved is
  // 100 100 120 120 140 140 160 160 180 MiB, all of which some step had allocated.
  ReplayOptions options = default_options();
  options.settings.expandable_segments = true;
  std::string text = "conf \n";
  int step = 0;
  for (const std::uint64_t mib : {100U, 100U, 120U, 80U, 140U, 60U, 160U, 40U, 180U}) {
    text += fmt::format("step {}\n", step) + alloc(fmt::format("x{}", step), mib) +
            fmt::format("f x{}\n", step);
    ++step;
  }
  const MemoryGrowth growth = growth_of(text + "step 99\n", options);
  CHECK(growth.steps[8].peak.reserved == 180_MiB);
  CHECK(growth.reserved.grows());
  CHECK_FALSE(growth.peak.grows());
  CHECK(growth.unexplained.per_step == 0);
  CHECK(growth.verdict == GrowthVerdict::none);
}

TEST_CASE("growth: steps that need more and more are neither leak nor fragmentation",
          "[sim][growth]") {
  std::string text = "conf \n";
  for (int k = 0; k < 8; ++k) {
    text += fmt::format("step {}\n", k) +
            alloc(fmt::format("x{}", k), 20 + 4 * static_cast<std::uint64_t>(k)) +
            fmt::format("f x{}\n", k);
  }
  const MemoryGrowth growth = growth_of(text + "step 8\n");
  CHECK(growth.verdict == GrowthVerdict::larger_steps);
  CHECK(growth.peak.per_step == Approx(4 * kMiB));
}

TEST_CASE("growth: the step that runs out of memory is not complete", "[sim][growth]") {
  ReplayOptions options = default_options();
  options.capacity = 230_MiB;  // step 4 has 220 MiB; step 5 empties the cache and goes on
  options.after_oom = AfterOom::stop;
  const MemoryGrowth growth = growth_of(drifting_shapes(8), options);
  CHECK(growth.steps[5].retries == 1);
  CHECK_FALSE(growth.steps[5].ran_out);
  options.capacity = 110_MiB;
  const MemoryGrowth stopped = growth_of(drifting_shapes(8), options);
  REQUIRE(stopped.steps.size() == 1);
  CHECK(stopped.steps[0].ran_out);
  CHECK_FALSE(stopped.steps[0].span.complete);
  CHECK(stopped.verdict == GrowthVerdict::too_few_steps);
}

TEST_CASE("growth: frees that wait for another stream, with their age", "[sim][growth]") {
  const MemoryGrowth growth = growth_of(
      "conf \na x 3000 0\na y 2000 0\na z 100 0\nr x 7\nr y 9\nf x\nf y\nf z\ne 9\na w 1 0\n");
  REQUIRE(growth.pending.size() == 1);
  CHECK(growth.pending[0].allocation == AllocationId{std::uint32_t{0}});
  CHECK(growth.pending[0].size == 3000_B);
  CHECK(growth.pending[0].operation == 5);
  CHECK(growth.pending[0].age == 4);
  CHECK(growth.pending_bytes == 3000_B);
}

TEST_CASE("growth: pending frees and step peaks agree with the replay", "[sim][growth][property]") {
  for (std::uint64_t seed = 1; seed <= 40; ++seed) {
    const program::Program made = program::generate(
        {.name = "streams", .room = program::Room::tight, .streams = 4}, seed, 300);
    const RequestTrace trace = test::parse_text(program::to_trace(made));
    ReplayOptions options = default_options();
    options.capacity = trace.header.capacity;
    const ReplayResult replayed = replay(trace, options);
    Steps steps;
    steps.steps = {{0, 100, 0, true}, {100, trace.events.size(), 1, true}};
    const MemoryGrowth growth = watch_run(trace, options, steps).growth;
    Bytes pending;
    for (const MapSegment& segment : replayed.map.segments) {
      for (const MapBlock& block : segment.blocks) {
        pending += block.state == BlockState::active_pending_free ? block.requested : 0_B;
      }
    }
    CHECK(growth.pending_bytes == pending);
    REQUIRE(growth.steps.size() == 2);
    CHECK(growth.steps[1].end == replayed.final);
    CHECK(std::max(growth.steps[0].peak.active, growth.steps[1].peak.active) <=
          replayed.peak.active);
    CHECK(growth.steps[0].retries + growth.steps[1].retries == replayed.counts.alloc_retries);
  }
}

TEST_CASE("growth: step ends that rise are no leak while no block stays behind", "[sim][growth]") {
  std::string text = "conf \n";
  for (int k = 0; k < 5; ++k) {  // each step holds the block of the one before until it has its own
    text += fmt::format("step {}\n", k) +
            alloc(fmt::format("t{}", k), 30 + 2 * static_cast<std::uint64_t>(k)) +
            (k == 0 ? "" : fmt::format("f t{}\n", k - 1));
  }
  const MemoryGrowth growth = growth_of(text + "step 99\n");
  CHECK(growth.end.grows());
  CHECK(growth.leaks.empty());
  CHECK(growth.verdict != GrowthVerdict::leak);
}
