// Peaks by step and phase, and what the memory was for at each of them.
#include "sim/replay/phase_peaks.hpp"

#include <catch2/catch.hpp>

#include "tests/support/format_io.hpp"

using namespace highwater;
using namespace highwater::literals;

namespace {

PhasedReplay run(const std::string& text, std::optional<Bytes> capacity = std::nullopt) {
  ReplayOptions options;
  options.version = &version_preset("2.6");
  options.capacity = capacity;
  return replay_with_phases(test::parse_text("conf \n" + text), options);
}

const std::string kTwoSteps =
    "phase init\na w 1048576 0 parameter\n"
    "p\nstep 0\nphase forward\na x 1000 0 activation\na y 3000 0 activation\nf y\n"
    "phase backward\na g 1048576 0 gradient\nf x\n"
    "p\nstep 1\nphase optimizer\nf g\n";

}  // namespace

TEST_CASE("phase peaks: a phase's peak includes what was there when it began", "[sim][phases]") {
  const PhasePeaks peaks = run(kTwoSteps).peaks;
  REQUIRE(peaks.phases.size() == 4);
  CHECK(peaks.phases[0].phase == "init");
  CHECK_FALSE(peaks.phases[0].step.has_value());
  CHECK(peaks.phases[1].phase == "forward");
  CHECK(peaks.phases[1].step == 0U);
  CHECK(peaks.phases[1].peak.requested == 1052576_B);
  CHECK(peaks.phases[1].end.requested == 1049576_B);
  CHECK(peaks.phases[2].peak.requested == 2098152_B);
  CHECK(peaks.phases[3].peak.requested == 2097152_B);
  CHECK(peaks.phases[3].end.requested == 1_MiB);
  REQUIRE(peaks.steps.size() == 2);
  CHECK(peaks.steps[0].complete);
  CHECK(peaks.steps[0].peak.requested == 2098152_B);
  CHECK(peaks.steps[1].peak.requested == 2_MiB);
  CHECK(peaks.steps[1].peak.allocated == 2_MiB);
}

TEST_CASE("phase peaks: categories and rounding sum to the peak", "[sim][phases]") {
  const PhasedReplay replayed = run(kTwoSteps);
  const CategoryBytes& parts = replayed.peaks.run.at_peak;
  CHECK(parts.of(Category::parameter) == 1_MiB);
  CHECK(parts.of(Category::gradient) == 1_MiB);
  CHECK(parts.of(Category::activation) == 1000_B);
  CHECK(parts.rounding == 24_B);
  CHECK(parts.total() == replayed.result.peak.allocated);
  for (const PhasePeak& phase : replayed.peaks.phases) {
    CHECK(phase.at_peak.total() == phase.peak.allocated);
  }
}

TEST_CASE("phase peaks: a step that runs out of memory is the last, and not complete",
          "[sim][phases]") {
  const PhasePeaks peaks =
      run("a w 20971520 0\nstep 0\nstep 1\na x 31457280 0\nf x\nstep 2\nf w\n", 40_MiB).peaks;
  CHECK(peaks.out_of_memory);
  REQUIRE(peaks.steps.size() == 2);
  CHECK(peaks.steps[0].complete);
  CHECK_FALSE(peaks.steps[1].complete);
  CHECK(peaks.phases.back().phase == "step_begin");
}

TEST_CASE("phase peaks: an empty phase is kept, an unnamed empty stretch is not", "[sim][phases]") {
  const PhasePeaks peaks = run("step 0\nphase data\nphase forward\na x 1 0\n").peaks;
  REQUIRE(peaks.phases.size() == 2);
  CHECK(peaks.phases[0].phase == "data");
  CHECK(peaks.phases[1].phase == "forward");
}
