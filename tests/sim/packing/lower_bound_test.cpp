// Lower bounds of a trace, by hand and beside replays.
#include "sim/packing/lower_bound.hpp"

#include <catch2/catch.hpp>

#include "tests/support/format_io.hpp"
#include "tests/support/program.hpp"
#include "tests/support/random_traces.hpp"

using namespace highwater;
using namespace highwater::literals;

namespace {

ReplayOptions default_options() {
  ReplayOptions options;
  options.version = &version_preset("2.6");
  return options;
}

FourBars bars_of(const RequestTrace& trace, const ReplayOptions& options) {
  return four_bars(trace, options, bar_of(replay(trace, options)));
}

/// Counts what it is shown.
struct Watcher : ReplayObserver, DecisionListener {
  void on_event(const Event&, AllocationStatus, const Statistics&) override { ++seen; }

  void on_decision(const Decision&) override { ++seen; }

  int seen = 0;
};

}  // namespace

TEST_CASE("lifetimes: from the request to the request of the free", "[sim][lower_bound]") {
  const Lifetimes lives = lifetimes_of(
      test::parse_text("conf \na x 100 0\nstep 1\na none 0 0\na y 200 7\nf x\nf x\np\n"));
  CHECK(lives.operations == 6);
  REQUIRE(lives.blocks.size() == 2);
  CHECK(lives.blocks[0].begin == 0);
  CHECK(lives.blocks[0].end == 3);
  CHECK(lives.blocks[1].begin == 2);
  CHECK(lives.blocks[1].end == 6);
  CHECK(lives.blocks[1].size == 200_B);
  CHECK(lives.blocks[1].stream == StreamId{std::uint32_t{1}});
  CHECK(lives.blocks[0].overlaps(lives.blocks[1]));
}

TEST_CASE("lower bound: live bytes as asked for and in blocks of 512", "[sim][lower_bound]") {
  const RequestTrace trace =
      test::parse_text("conf \na x 100 0\na y 513 0\nf x\na z 1000 0\nf y\na w 100 0\n");
  const LowerBound bound = lower_bound_of(trace);
  CHECK(bound.live == 1513_B);  // y and z
  CHECK(bound.live_operation == 3);
  CHECK(bound.live_rounded == 2048_B);  // 1024 + 1024
  CHECK(bound.packed == 2048_B);
  CHECK(bound.gap() == 0);
  CHECK(bound.allocations.size() == bound.packing.offsets.size());
}

TEST_CASE("four bars: live <= packed <= expandable <= default", "[sim][lower_bound]") {
  // 12 MiB go, 13 MiB come: fixed segments need 12 + 14 MiB, a page of 20 MiB serves both.
  const RequestTrace trace =
      test::parse_text("conf \na x 12582912 0\nf x\na y 13631488 0\na z 512 0\n");
  ReplayOptions options = default_options();
  options.settings.expandable_segments = true;
  const FourBars bars = bars_of(trace, options);
  CHECK(bars.bound.live == 13_MiB + 512_B);
  CHECK(bars.bound.packed == 13_MiB + 512_B);
  CHECK(bars.standard.reserved == 28_MiB);    // 12 + 14 + 2 for the small one
  CHECK(bars.expandable.reserved == 22_MiB);  // one page of 20, one of 2
  CHECK(bars.own.reserved == bars.expandable.reserved);
  CHECK_FALSE(bars.standard.ran_out);
  CHECK(bars.most_to_win() == 9_MiB - 512_B);
  options.capacity = 24_MiB;
  CHECK(bars_of(trace, options).standard.reserved <= 24_MiB);
  options.capacity = 10_MiB;
  CHECK(bars_of(trace, options).own.ran_out);
  CHECK(bars_of(trace, options).most_to_win() == 0_B);
}

TEST_CASE("four bars: nobody watches replays that run at the same time", "[sim][lower_bound]") {
  const RequestTrace trace = test::parse_text("conf \na x 12582912 0\nf x\n");
  ReplayOptions options = default_options();
  options.settings.max_split_size = 100_MiB;  // neither of the other two bars
  Watcher watcher;
  options.observer = &watcher;
  options.listener = &watcher;
  const FourBars bars = four_bars(trace, options, ReplayBar{7_MiB, 5_MiB, false});
  CHECK(watcher.seen == 0);
  CHECK(bars.own.reserved == 7_MiB);
  CHECK(bars.standard.reserved == 12_MiB);
}

TEST_CASE("lower bound: no replay of a program needs less", "[sim][lower_bound][property]") {
  for (std::uint64_t seed = 1; seed <= 40; ++seed) {
    const program::Program made = program::generate(
        {.name = "streams", .streams = 3, .pools = program::Pools::kept}, seed, 300);
    const RequestTrace trace = test::parse_text(program::to_trace(made));
    const FourBars bars = bars_of(trace, default_options());
    CAPTURE(seed);
    CHECK(bars.bound.live <= bars.bound.live_rounded);
    CHECK(bars.bound.live_rounded <= bars.bound.packed);
    CHECK(bars.bound.live_rounded <= bars.standard.active);
    CHECK(bars.bound.live_rounded <= bars.expandable.reserved);
    CHECK(bars.bound.gap() >= 0);
  }
}

TEST_CASE("lower bound: any trace has one or is refused", "[sim][lower_bound][property]") {
  std::size_t answered = 0;
  for (std::uint32_t seed = 1; seed <= 300; ++seed) {
    const RequestTrace trace = test::random_requests(seed);
    CHECK(test::parses_or_refuses([&] {
      const LowerBound bound = lower_bound_of(trace);
      CHECK(bound.live_rounded <= bound.packed);
      ++answered;
    }));
  }
  CHECK(answered > 20);
}
