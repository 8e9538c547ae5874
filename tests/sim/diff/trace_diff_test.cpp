// Comparing traces: alignment by phase and block, so that one difference is one difference.
#include "sim/diff/trace_diff.hpp"

#include <catch2/catch.hpp>

#include "sim/diff/sequence_alignment.hpp"
#include "tests/support/dice.hpp"
#include "tests/support/format_io.hpp"

using namespace highwater;
using namespace highwater::literals;

namespace {

TraceDiff diff(const std::string& first, const std::string& second,
               const DiffOptions& options = {}) {
  const RequestTrace a = test::parse_text("conf \n" + first);
  const RequestTrace b = test::parse_text("conf \n" + second);
  return diff_traces({&a, phase_boundaries(a), std::nullopt},
                     {&b, phase_boundaries(b), std::nullopt}, options);
}

const PhaseDiff& phase(const TraceDiff& diff, const std::string& name) {
  const auto found = std::ranges::find(diff.phases, name, &PhaseDiff::phase);
  REQUIRE(found != diff.phases.end());
  return *found;
}

const std::string kTwoPhases =
    "a w 4096 0\nstep 0\nphase forward\na x 512 0\na y 512 0\na z 2048 0\nf y\n"
    "phase backward\na g 4096 0\nf z\nf x\n";

std::vector<std::uint64_t> draw(test::Dice& dice, std::size_t count) {
  std::vector<std::uint64_t> tokens;
  for (std::size_t i = 0; i < count; ++i) {
    tokens.push_back(dice.below(4));
  }
  return tokens;
}

}  // namespace

TEST_CASE("trace diff: equal traces are equal, whatever their ids and markers are called",
          "[sim][diff]") {
  const TraceDiff same = diff(kTwoPhases,
                              "a 1 4096 0\nphase init\nstep 0\nphase step_begin\nphase forward\n"
                              "a 2 512 0\na 3 512 0\nphase loss\na 9 2048 0\nf 3\nphase backward\n"
                              "a 5 4096 0\nf 9\nf 2\n");
  CHECK(same.is_equal_from(std::nullopt));
  REQUIRE(same.phases.size() == 3);
  CHECK(same.phases[0].phase == "init");
  CHECK_FALSE(same.phases[0].step.has_value());
  CHECK(same.phases[1].phase == "forward");
  CHECK(same.phases[1].step == 0U);
  CHECK(same.phases[2].first.peak == 10752_B);
  CHECK(same.phases[2].first.end == 8192_B);
}

TEST_CASE("trace diff: a missing block is one line where it is allocated and one where it is freed",
          "[sim][diff]") {
  const TraceDiff missing =
      diff(kTwoPhases,
           "a w 4096 0\nstep 0\nphase forward\na x 512 0\na z 2048 0\nphase backward\n"
           "a g 4096 0\nf z\nf x\n");
  const PhaseDiff& forward = phase(missing, "forward");
  CHECK(forward.only_first == 2);
  CHECK(forward.only_second == 0);
  CHECK(phase(missing, "backward").is_equal());
  REQUIRE(forward.sizes.size() == 1);
  CHECK(forward.sizes[0].bytes == 512_B);
  CHECK(forward.sizes[0].excess() == -512);
  CHECK(missing.is_equal_from(1));
  CHECK_FALSE(missing.is_equal_from(0));
  REQUIRE(hunks_of(forward, 0).size() == 2);
  CHECK(hunks_of(forward, 1).size() == 1);  // the context of the two touches
}

TEST_CASE("trace diff: a free is equal only if it frees the same block", "[sim][diff]") {
  const std::string begin = "a x 512 0\na y 512 0\n";
  const TraceDiff swapped = diff(begin + "f x\nf y\n", begin + "f y\nf x\n");
  CHECK(swapped.phases[0].only_first == 1);
  CHECK(swapped.phases[0].only_second == 1);
  const DiffOptions any_order{.free_order = FreeOrder::ignored};
  CHECK(diff(begin + "f x\nf y\n", begin + "f y\nf x\n", any_order).is_equal_from(std::nullopt));
  CHECK_FALSE(diff(begin + "f x\na z 1 0\nf y\n", begin + "f y\na z 1 0\nf x\n", any_order)
                  .is_equal_from(std::nullopt));
}

TEST_CASE("trace diff: streams are compared by order of appearance", "[sim][diff]") {
  CHECK(diff("a x 512 7\na y 512 9\n", "a x 512 0\na y 512 3\n").is_equal_from(std::nullopt));
  CHECK_FALSE(diff("a x 512 7\na y 512 7\n", "a x 512 0\na y 512 3\n").is_equal_from(std::nullopt));
}

TEST_CASE("trace diff: phases that come twice in a step are micro-batches", "[sim][diff]") {
  const std::string one = "phase forward\na x 1 0\nphase backward\nf x\n";
  const std::string two = "phase forward\na y 2 0\nphase backward\nf y\n";
  const TraceDiff both = diff("step 0\n" + one + two, "step 0\n" + one);
  REQUIRE(both.phases.size() == 4);
  CHECK(both.phases[2].phase == "forward");
  CHECK(both.phases[2].occurrence == 1);
  CHECK(both.phases[2].only_first == 1);
  CHECK(both.phases[0].is_equal());
}

TEST_CASE("trace diff: from the request that ended the program on nothing counts", "[sim][diff]") {
  const RequestTrace failed =
      test::parse_text("conf \nstep 0\nphase forward\na x 1 0\na y 1024 0\nf x\n");
  const RequestTrace whole = test::parse_text(
      "conf \nstep 0\nphase forward\na x 1 0\na y 999 0\na z 3 0\nphase backward\nf x\nf y\nf z\n");
  const ComparedTrace ended{&failed, phase_boundaries(failed), AllocationId{1U}};
  CHECK(diff_traces(ended, {&whole, phase_boundaries(whole), std::nullopt})
            .is_equal_from(std::nullopt));
}

TEST_CASE("alignment: steps lead through both sequences and are as few as possible",
          "[sim][diff]") {
  using Tokens = std::vector<std::uint64_t>;
  const auto edits = [](const Tokens& a, const Tokens& b, std::size_t limit) {
    std::size_t i = 0;
    std::size_t j = 0;
    std::size_t count = 0;
    for (const AlignmentStep step : align(a, b, limit)) {
      if (step == AlignmentStep::both) {
        REQUIRE(a.at(i) == b.at(j));
      }
      count += step == AlignmentStep::both ? 0U : 1U;
      i += step == AlignmentStep::only_second ? 0U : 1U;
      j += step == AlignmentStep::only_first ? 0U : 1U;
    }
    CHECK(i == a.size());
    CHECK(j == b.size());
    return count;
  };
  CHECK(edits({1, 2, 3, 1, 2, 2, 1}, {3, 2, 1, 2, 1, 3}, 100) == 5);  // the paper's example
  CHECK(edits({}, {1, 2}, 100) == 2);
  CHECK(edits({1, 2}, {}, 100) == 2);
  test::Dice dice(7);
  for (int round = 0; round < 300; ++round) {
    const Tokens a = draw(dice, dice.below(40));
    const Tokens b = draw(dice, dice.below(40));
    const std::size_t best = edits(a, b, 1000);
    CHECK(best == edits(b, a, 1000));
    CHECK(edits(a, b, 3) >= best);
  }
}
