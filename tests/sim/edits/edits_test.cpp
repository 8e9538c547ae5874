// Edits of small traces, compared with the trace that one would write by hand.
#include <catch2/catch.hpp>

#include "sim/edits/edit.hpp"
#include "sim/replay/replay.hpp"
#include "tests/support/format_io.hpp"
#include "traces/error.hpp"
#include "traces/parse_text.hpp"

using namespace highwater;
using namespace highwater::literals;

namespace {

/// Two sites: stack 0 is x.py, stack 1 is y.py.
const std::string kSites = "frame 0 1 x.py\tf\nframe 1 2 y.py\tg\nstack 0 0\nstack 1 1\n";

SiteSet first_site() {
  return {.stacks = {true, false}};
}

SiteSet all_sites() {
  return {.stacks = {true, true}, .without_stack = true};
}

struct Edited {
  std::string lines;  ///< without header, frames and stacks
  EditReport report;
};

/// The lines of a trace that are events, without stacks.
std::string event_lines(const RequestTrace& trace) {
  std::string lines;
  for (const std::string& line : split(test::print_text(trace), '\n')) {
    if (line.starts_with("frame") || line.starts_with("stack") || line.starts_with("conf") ||
        line.starts_with("#") || line.empty()) {
      continue;
    }
    lines += line.substr(0, line.find(" @")) + "\n";
  }
  return lines;
}

Edited edited(const std::string& text, const Edit& edit, std::size_t older = 0) {
  EditedRun run{test::parse_text("conf \n" + kSites + text), older};
  Edited result;
  result.report = apply_edit(edit, run);
  result.lines = event_lines(run.trace);
  return result;
}

}  // namespace

TEST_CASE("edits: a block at the start, before everything", "[sim][edits]") {
  const Edited result = edited("a x 512 3\nf x\n", Preallocate{1_MiB, 0});
  CHECK(result.lines == "a edit-1 1048576 0\nf edit-1\na x 512 3\nf x\n");
  CHECK(edited("", Preallocate{1_MiB, 0}).lines.starts_with("a "));
}

TEST_CASE("edits: empty_cache at the ends of steps", "[sim][edits]") {
  const std::string run =
      "step 0\na x 512 0\nf x\nstep 1\na y 512 0\nf y\nstep 2\na z 512 0\nf z\n";
  CHECK(edited(run, EmptyCaches{}).lines ==
        "step 0\na x 512 0\nf x\nc\nstep 1\na y 512 0\nf y\nc\nstep 2\na z 512 0\nf z\nc\n");
  CHECK(edited(run, EmptyCaches{.every = 2}).lines ==
        "step 0\na x 512 0\nf x\nstep 1\na y 512 0\nf y\nc\nstep 2\na z 512 0\nf z\n");
  CHECK(edited(run, EmptyCaches{EmptyCaches::Unit::allocations, 2}).lines ==
        "step 0\na x 512 0\nf x\nstep 1\na y 512 0\nc\nf y\nstep 2\na z 512 0\nf z\n");
  CHECK_THROWS_AS(edited("a x 512 0\nf x\n", EmptyCaches{}), UsageError);
}

TEST_CASE("edits: the last step ends as the one before it did", "[sim][edits]") {
  const std::string run =
      "a w 512 0 @1\nstep 0\na x 512 0 @0\nf x\nstep 1\na y 512 0 @0\nf y\nf w\n";
  CHECK(edited(run, EmptyCaches{.every = 2}).lines ==
        "a w 512 0\nstep 0\na x 512 0\nf x\nstep 1\na y 512 0\nf y\nc\nf w\n");
}

TEST_CASE("edits: record_stream of some sites is left out", "[sim][edits]") {
  const Edited result = edited("a x 512 0 @0\na y 512 0 @1\nr x 1\nr x 2\nr y 1\nf x\nf y\n",
                               DropRecordStreams{first_site()});
  CHECK(result.lines == "a x 512 0\na y 512 0\nr y 1\nf x\nf y\n");
  CHECK(result.report.changed == 1);
  CHECK(result.report.blocks == 1);
  CHECK(result.report.bytes == 512_B);
}

TEST_CASE("edits: frees come earlier, but not before the block or its known use", "[sim][edits]") {
  const std::string run = "a x 512 0 @0\na y 512 0 @1\nf y\na z 512 0 @1\nf x\nf z\n";
  CHECK(edited(run, FreeEarlier{first_site(), 2}).lines ==
        "a x 512 0\na y 512 0\nf x\nf y\na z 512 0\nf z\n");
  CHECK(edited(run, FreeEarlier{first_site(), 100}).lines ==
        "a x 512 0\nf x\na y 512 0\nf y\na z 512 0\nf z\n");
  const std::string used = "a x 512 0 @0\na y 512 0 @1\nr x 1\nf y\na z 512 0 @1\nf x\n";
  CHECK(edited(used, FreeEarlier{first_site(), 100}).lines ==
        "a x 512 0\na y 512 0\nr x 1\nf x\nf y\na z 512 0\n");
  CHECK(edited(used, FreeAtLastUse{all_sites()}).lines ==
        "a x 512 0\na y 512 0\nr x 1\nf x\nf y\na z 512 0\n");
  CHECK(edited("a x 512 0 @0\nf x\n", FreeEarlier{first_site(), 5}).report.changed == 0);
}

TEST_CASE("edits: a free that waited takes its waiting along", "[sim][edits]") {
  // Complete by the next allocation: likewise at the new place, on a stream of its own.
  CHECK(edited("a x 512 0 @0\na y 512 0 @1\nf y\nr x 1\nf x\ne 1\na z 512 0 @1\n",
               FreeEarlier{first_site(), 2})
            .lines == "a x 512 0\nr x 2\nf x\ne 2\na y 512 0\nf y\ne 1\na z 512 0\n");
  // Complete later: then it stays so.
  CHECK(edited("a x 512 0 @0\na y 512 0 @1\nf y\nr x 1\nf x\na z 512 0 @1\ne 1\n",
               FreeEarlier{first_site(), 2})
            .lines == "a x 512 0\nr x 2\nf x\na y 512 0\nf y\na z 512 0\ne 1\ne 2\n");
}

TEST_CASE("edits: another stream, whose number keeps the order of handles", "[sim][edits]") {
  const Edited result =
      edited("a x 512 0 @0\na y 512 9 @1\nr y 9\nf x\nf y\n", MoveToStream{first_site(), 7});
  CHECK(result.lines == "a x 512 7\na y 512 9\nr y 9\nf x\nf y\n");
  EditedRun run{test::parse_text("conf \n" + kSites + "a x 512 0 @0\na y 512 9 @1\n")};
  apply_edit(MoveToStream{first_site(), 7}, run);
  CHECK(run.trace.stream_handles == std::vector<std::uint64_t>{0, 7, 9});
}

TEST_CASE("edits: into a pool and out of pools", "[sim][edits]") {
  CHECK(edited("a x 512 0 @0\na y 512 0 @0\n", MoveToPool{first_site(), {0, 3}}).lines ==
        "pool_begin 0,3\na x 512 0\npool_end 0,3\n"
        "pool_begin 0,3\npool_release 0,3\na y 512 0\npool_end 0,3\n");
  CHECK(
      edited("pool_begin 1\na x 512 0 @0\na y 512 0 @1\npool_end 1\n", MoveToPool{first_site(), {}})
          .lines ==
      "pool_begin 1\npool_end 1\na x 512 0\npool_begin 1\npool_release 1\na y 512 0\n"
      "pool_end 1\n");
}

TEST_CASE("edits: sizes, and blocks that do not exist", "[sim][edits]") {
  const std::string run = "a x 1001 0 @0\na y 512 0 @1\nr x 1\nf x\nf y\n";
  CHECK(edited(run, ScaleSizes{first_site(), 0.5}).lines ==
        "a x 501 0\na y 512 0\nr x 1\nf x\nf y\n");
  CHECK(edited(run, ScaleSizes{first_site(), 0}).lines == "a y 512 0\nf y\n");
}

TEST_CASE("edits: a step that does not happen", "[sim][edits]") {
  // k is handed on from step to step, m is kept by each step, s is made by the first one alone.
  const std::string run =
      "step 0\na k0 512 0 @0\na s 64 0 @1\na m0 128 0 @1\n"
      "step 1\na k1 512 0 @0\nf k0\na m1 128 0 @1\na t1 256 0 @1\nf t1\n"
      "step 2\na k2 512 0 @0\nf k1\na m2 128 0 @1\n"
      "step 3\nf k2\nf m0\nf m1\nf m2\n";
  CHECK(edited(run, DropStep{1}).lines ==
        "step 0\na k0 512 0\na s 64 0\na m0 128 0\n"
        "step 2\na k2 512 0\nf k0\na m2 128 0\n"
        "step 3\nf k2\nf m0\nf m2\n");
  const Edited first = edited(run, DropStep{0});
  CHECK(first.report.unknown.size() == 1);  // s: would a later step have made it?
  CHECK(first.lines.starts_with("a k0 512 0\na s 64 0\nstep 1\n"));
}

TEST_CASE("edits: a step that happens more often", "[sim][edits]") {
  const std::string run =
      "step 0\na k0 512 0 @0\nstep 1\na k1 512 0 @0\nf k0\na m1 128 0 @1\n"
      "step 2\na k2 512 0 @0\nf k1\na m2 128 0 @1\nstep 3\nf k2\nf m2\nf m1\n";
  const Edited result = edited(run, RepeatStep{1, 2});
  CHECK(result.lines ==
        "step 0\na k0 512 0\nstep 1\na k1 512 0\nf k0\na m1 128 0\n"
        "step 2\na edit-5 512 0\nf k1\na edit-6 128 0\n"
        "step 3\na k2 512 0\nf edit-5\na m2 128 0\n"
        "step 4\nf k2\nf m2\nf edit-6\nf m1\n");  // the newest first, as m2 before m1
  CHECK(result.report.changed == 2);
  CHECK_THROWS_AS(edited(run, RepeatStep{9, 2}), UsageError);
}

TEST_CASE("edits: another run in the same process", "[sim][edits]") {
  const auto second = std::make_shared<RequestTrace>(
      test::parse_text("conf \nstep 0\npool_begin 1\na b 512 4\npool_end 1\nf b\n"));
  CHECK(edited("step 0\npool_begin 1\na x 512 0\npool_end 1\n", ThenRun{second}).lines ==
        "step 0\npool_begin 1\na x 512 0\npool_end 1\nf x\nE\n"
        "step 1\npool_begin 2\na then-b 512 4\npool_end 2\nf then-b\n");
  CHECK(edited("a x 512 0\n", ThenRun{second, ThenRun::Left::kept})
            .lines.starts_with("a x 512 0\nE\nstep 0\n"));
}

TEST_CASE("edits: where the run itself begins stays known", "[sim][edits]") {
  EditedRun run{test::parse_text("conf \na o 512 0\na x 512 0\nf o\nf x\n"), 1};
  apply_edit(Preallocate{1_MiB, 0}, run);
  CHECK(run.older_events == 3);
  apply_edit(EmptyCaches{EmptyCaches::Unit::allocations, 1}, run);
  CHECK(event_lines(run.trace) ==
        "a edit-2 1048576 0\nf edit-2\na o 512 0\na x 512 0\nc\nf o\nf x\n");
  apply_edit(FreeEarlier{all_sites(), 9}, run);
  CHECK(event_lines(run.trace) ==
        "a edit-2 1048576 0\nf edit-2\na o 512 0\nf o\na x 512 0\nc\nf x\n");
}

TEST_CASE("edits: repeated steps of an edited run are counted with the same result",
          "[sim][edits]") {
  std::string text = kSites;
  for (int step = 0; step < 100; ++step) {
    text += "step " + std::to_string(step) + "\n";
    for (int i = 0; i < 200; ++i) {
      const std::string id = std::to_string(step * 200 + i);
      text += "a " + id + " " + std::to_string(1000 + 70000 * (i % 37)) + " 0 @" +
              std::to_string(i % 2) + "\n";
    }
    for (int i = 0; i < 200; ++i) {
      text += "f " + std::to_string(step * 200 + i * 77 % 200) + "\n";
    }
  }
  const std::vector<Edit> edits{FreeEarlier{first_site(), 50}, MoveToStream{first_site(), 5},
                                DropStep{7}, RepeatStep{9, 20}};
  EditedRun run{test::parse_text("conf \n" + text)};
  for (const Edit& edit : edits) {
    apply_edit(edit, run);
  }
  ReplayOptions options;
  options.version = &version_preset("2.15");
  const ReplayResult counted = replay(run.trace, options);
  options.repeated_steps = RepeatedSteps::carried_out;
  const ReplayResult carried_out = replay(run.trace, options);
  CHECK(counted.operations_repeated > 0);
  CHECK(counted.peak == carried_out.peak);
  CHECK(counted.final == carried_out.final);
  CHECK(counted.operations == carried_out.operations);
  CHECK(counted.counts.device_alloc == carried_out.counts.device_alloc);
}

namespace {

/// Another run, of which one request comes before each place in `times`.
BesideRun beside(const std::string& text, BesideRun::Order order,
                 std::vector<std::int64_t> times = {}) {
  const VersionPreset* const version = &version_preset("2.15");
  const auto run = std::make_shared<RequestTrace>(test::parse_text("conf \n" + text));
  return {{.run = run, .settings = {}, .version = version, .context = 2_MiB, .turns = {}},
          std::move(times),
          order};
}

using Turns = std::vector<std::uint32_t>;

}  // namespace

TEST_CASE("edits: the turns of two processes", "[sim][edits]") {
  using Order = BesideRun::Order;
  const std::string two = "a x 512 0\nf x\n";
  const std::string four = "a x 512 0\nf x\na y 512 0\nf y\n";
  const auto turns = [&](const BesideRun& edit, std::vector<std::int64_t> times) {
    EditedRun run{test::parse_text("conf \n" + two), 0, std::move(times)};
    apply_edit(edit, run);
    return run.beside->turns;
  };
  CHECK(turns(beside(four, Order::share), {}) == Turns{1, 3});
  CHECK(turns(beside(four, Order::automatic), {}) == Turns{1, 3});
  CHECK(turns(beside(four, Order::clock, {5, 9, 10, 30}), {10, 20}) == Turns{2, 3});
  CHECK(turns(beside(four, Order::start, {105, 110, 114, 130}), {10, 20}) == Turns{0, 3});
  // They ran at the same time, or they did not.
  CHECK(turns(beside(four, Order::automatic, {5, 9, 10, 30}), {10, 20}) == Turns{2, 3});
  CHECK(turns(beside(four, Order::automatic, {105, 110, 114, 130}), {10, 20}) == Turns{0, 3});
  CHECK_THROWS_AS(turns(beside(four, Order::clock), {10, 20}), UsageError);
}

// 60 MiB: a request of 15 MiB takes a segment of 16. The second process takes 18 with its context
// of 2, and caches what it frees; the first has room for two segments beside it (50), and its third
// request fails with 10 MiB free, since nobody gives back what another process caches. Alone it
// takes 48.
TEST_CASE("edits: the cache of one process is lost to the other", "[sim][edits]") {
  EditedRun run{
      test::parse_text("conf \n" + kSites + "a a 15728640 0\na b 15728640 0\na c 15728640 0\n")};
  apply_edit(beside("a x 15728640 0\nf x\n", BesideRun::Order::share), run);
  ReplayOptions options;
  options.version = &version_preset("2.15");
  options.capacity = 60_MiB;
  CHECK(replay(run.trace, options).counts.ooms == 0);
  options.beside = run.beside;
  const ReplayResult both = replay(run.trace, options);
  CHECK(both.counts.ooms == 1);
  CHECK(both.ooms.front().account.device_free == 10_MiB);
  REQUIRE(both.beside);
  CHECK(both.beside->peak.reserved == 16_MiB);
  CHECK(both.beside->ooms == 0);
  CHECK(both.beside->device_peak == 50_MiB);
}

TEST_CASE("edits: a process whose context does not fit never runs", "[sim][edits]") {
  EditedRun run{test::parse_text("conf \na a 512 0\n")};
  apply_edit(beside("a x 512 0\n", BesideRun::Order::share), run);
  ReplayOptions options;
  options.version = &version_preset("2.15");
  options.capacity = 1_MiB;
  options.beside = run.beside;
  const ReplayResult result = replay(run.trace, options);
  CHECK_FALSE(result.beside->has_context);
  CHECK(result.beside->peak.reserved == Bytes{});
}
