// The change of the peak: by hand, and that every list sums to it on random programs.
#include "sim/peak/peak_change.hpp"

#include <algorithm>

#include <catch2/catch.hpp>

#include "tests/support/format_io.hpp"
#include "tests/support/header_options.hpp"
#include "tests/support/program.hpp"

using namespace highwater;
using namespace highwater::literals;

namespace {

/// A trace, its replay, and its peak taken apart.
struct Run {
  explicit Run(const std::string& text) : Run(test::parse_text(text)) {}

  explicit Run(RequestTrace requests) : trace(std::move(requests)) {
    const ReplayOptions options = options_for(trace);
    result = replay(trace, options);
    peak = break_down_peak(
        trace, [&](StateObserver& observer) { replay_watched(trace, options, observer); },
        result.peak.reserved);
  }

  /// "FILE:LINE FUNCTION", as the reports name sites.
  [[nodiscard]] PeakSide side() const {
    return {&peak, &trace, [this](StackId stack) {
              if (!stack.has_value()) {
                return SiteName{"(none)", ""};
              }
              const Frame& frame = trace.tables.stacks.frame(trace.tables.stacks.stack(stack)[0]);
              const std::string file(trace.tables.strings[frame.file]);
              const std::string function(trace.tables.strings[frame.function]);
              return SiteName{file + ":" + std::to_string(frame.line) + " " + function,
                              file + " " + function};
            }};
  }

  RequestTrace trace;
  ReplayResult result;
  PeakBreakdown peak;
};

std::string site(int number, int line, const std::string& function) {
  const std::string id = std::to_string(number);
  return "frame " + id + " " + std::to_string(line) + " t.py\t" + function + "\nstack " + id + " " +
         id + "\n";
}

std::vector<std::string> names(const PeakRows& rows) {
  std::vector<std::string> list;
  for (const PeakRow& row : rows) {
    list.push_back(row.name);
  }
  return list;
}

using Names = std::vector<std::string>;

/// Every part of every list sums to that of the peaks.
void check_sums(const PeakChange& change) {
  for (const PeakRows* rows : {&change.sites, &change.categories, &change.segments}) {
    const PeakRow sum = sum_of(*rows, 0, rows->size());
    CHECK(sum.first == change.total.first);
    CHECK(sum.second == change.total.second);
    CHECK(sum.change() == change.total.change());
    CHECK(std::ranges::is_sorted(*rows, {}, &PeakRow::is_remainder));
  }
}

/// The trace of a program with stacks given to its allocations in turn: functions of 1 or 2 lines.
RequestTrace with_stacks(const program::Program& program, std::int64_t first_line) {
  RequestTrace trace = test::parse_text(program::to_trace(program));
  std::vector<StackId> stacks{StackId::none()};
  for (std::int64_t i = 0; i < 6; ++i) {
    const FrameId frame = trace.tables.stacks.intern_frame(
        {trace.tables.strings.intern("t.py"),
         trace.tables.strings.intern("f" + std::to_string(i * 2 / 3)), first_line + i});
    stacks.push_back(trace.tables.stacks.intern_stack(std::vector{frame}));
  }
  std::size_t next = 0;
  for (std::size_t i = 0; i < trace.events.size(); ++i) {
    if (trace.events[i].kind == EventKind::alloc) {
      trace.events[i].stack = stacks[next++ % stacks.size()];
      trace.events[i].category = static_cast<Category>(next % kCategoryCount);
    }
  }
  return trace;
}

}  // namespace

TEST_CASE("peak change: by hand", "[sim][peak_change]") {
  // 3 MiB in a segment of 20, and 1000 bytes in one of 2: 22 MiB.
  const Run first("conf \n" + site(0, 10, "forward") + site(1, 20, "loss") +
                  "a x 3145728 0 activation @0\na y 1000 0 parameter @1\n");
  // 2 MiB in a segment of 20, 24 in one of their own, 30 free again, and the 1000 bytes: 76 MiB.
  const Run second("conf \n" + site(0, 12, "forward") + site(1, 20, "loss") + site(2, 5, "head") +
                   "a x 2097152 0 activation @0\na w 25165824 0 gradient @2\n"
                   "a v 31457280 0 gradient @2\nf v\na y 1000 0 parameter @1\n");
  CHECK(first.peak.parts.requested == 3_MiB + 1000_B);
  CHECK(first.peak.parts.rounding == 24_B);
  CHECK(first.peak.parts.free_in_split == 19_MiB - 1024_B);
  CHECK(first.peak.parts.total() == 22_MiB);
  CHECK(first.peak.moment.operations == 2);
  CHECK(second.peak.parts.requested == 26_MiB + 1000_B);
  CHECK(second.peak.parts.free_in_split == 20_MiB - 1024_B);
  CHECK(second.peak.parts.free_whole == 30_MiB);
  CHECK(second.peak.parts.total() == 76_MiB);
  CHECK(second.peak.moment.operations == 5);

  const PeakChange change = change_of_peak(first.side(), second.side());
  check_sums(change);
  CHECK(change.total.change() == 54 << 20);
  CHECK(names(change.sites) == Names{"t.py:5 head", "t.py:10 forward", "t.py:20 loss",
                                     "(free whole segments)", "(free in segments in use)"});
  CHECK(change.sites[0].change() == 24 << 20);
  CHECK(change.sites[0].second_count == 1);
  CHECK(change.sites[1].second_name == "t.py:12 forward");  // the function moved by two lines
  CHECK(change.sites[1].change() == -(1 << 20));
  CHECK(change.sites[2].change() == 0);
  CHECK(change.sites[3].change() == 30 << 20);
  CHECK(change.sites[4].change() == 1 << 20);
  CHECK(names(change.categories) == Names{"gradient", "activation", "parameter",
                                          "(free whole segments)", "(free in segments in use)"});
  REQUIRE(names(change.segments) ==
          Names{"large, of one request, stream 0", "large, shared, stream 0", "small, stream 0"});
  CHECK(change.segments[0].change() == 54 << 20);
  CHECK(change.segments[0].second_count == 2);
  CHECK(change.segments[0].second.free_whole == 30_MiB);
  CHECK(change.segments[1].first.free_in_split == 17_MiB);
  CHECK(change.segments[1].second.free_in_split == 18_MiB);
}

TEST_CASE("peak change: a moved line is matched only where it is clear", "[sim][peak_change]") {
  const std::string large = " 12582912 0 @";
  const Run first("conf \n" + site(0, 10, "f") + site(1, 20, "g") + "a x" + large + "0\na y" +
                  large + "1\n");
  // f has two lines now; g's line 20 is still there and 21 is new: neither is a move.
  const Run second("conf \n" + site(0, 11, "f") + site(1, 12, "f") + site(2, 21, "g") +
                   site(3, 20, "g") + "a x" + large + "0\na u" + large + "1\na y" + large +
                   "2\na z" + large + "3\n");
  const PeakChange change = change_of_peak(first.side(), second.side());
  check_sums(change);
  for (const PeakRow& row : change.sites) {
    CHECK(row.second_name.empty());
  }
  CHECK(std::ranges::count(names(change.sites), "t.py:10 f") == 1);
  CHECK(std::ranges::count(names(change.sites), "t.py:12 f") == 1);
}

TEST_CASE("peak change: rounding, unsplit ends and waiting blocks", "[sim][peak_change]") {
  // A segment of 12 MiB serves 11.5 MiB whole: the 0.5 MiB left are too few to split off.
  const Run ends("conf \na x 12058624 0\n");
  CHECK(ends.peak.parts.tails == 512_KiB);
  CHECK(ends.peak.parts.requested == 11_MiB + 512_KiB);
  // Two steps between 8 and 16 MiB: 9 MiB take 12.
  const Run rounded("conf roundup_power2_divisions:2\na x 9437184 0\n");
  CHECK(rounded.peak.parts.rounding == 3_MiB);
  // Freed while stream 7 uses it: still there when the next one is allocated.
  const Run waits("conf \na x 12582912 0\nr x 7\nf x\na y 12582912 0\n");
  CHECK(waits.peak.parts.waiting == 12_MiB);
  REQUIRE(waits.peak.holders.size() == 1);
  CHECK(waits.peak.holders[0].blocks == 2);
  check_sums(change_of_peak(ends.side(), waits.side()));
}

TEST_CASE("peak change: expandable segments, streams and private pools", "[sim][peak_change]") {
  const Run run(
      "conf expandable_segments:True\na a 8388608 0\na b 100 5\npool_begin 3\na c 100 0\n"
      "pool_end 3\n");
  const PeakChange change = change_of_peak(run.side(), run.side());
  auto kinds = names(change.segments);
  std::ranges::sort(kinds);
  CHECK(kinds == Names{"expandable, large, stream 0", "expandable, small, stream 0, private pool 1",
                       "expandable, small, stream 1"});
  CHECK(change.total.change() == 0);
  CHECK(run.peak.parts.total() == 24_MiB);
}

TEST_CASE("peak change: a run without any operation", "[sim][peak_change]") {
  const Run nothing("conf \n");
  const Run something("conf \na x 1048577 0\n");
  const PeakChange change = change_of_peak(nothing.side(), something.side());
  check_sums(change);
  CHECK(nothing.peak.moment.operations == 0);
  CHECK(change.total.change() == 20 << 20);
}

TEST_CASE("peak change: every list sums to the byte on random programs",
          "[sim][peak_change][property]") {
  const program::Profile profiles[] = {
      {.name = "mixed", .streams = 3, .pools = program::Pools::kept},
      {.name = "tight", .room = program::Room::tight, .streams = 2, .max_split = true},
      {.name = "roundup", .roundup = true, .garbage_collection = true},
      {.name = "expandable", .room = program::Room::tight, .streams = 2, .expandable = true},
      {.name = "toggles", .streams = 2, .changes_settings = true, .toggles_expandable = true},
  };
  for (const program::Profile& profile : profiles) {
    for (std::uint64_t seed = 0; seed < 30; ++seed) {
      CAPTURE(profile.name, seed);
      const Run first(with_stacks(program::generate(profile, seed, 200), 10));
      const Run second(with_stacks(program::generate(profile, seed + 1000, 200), 13));
      CHECK(first.peak.parts.total() == first.result.peak.reserved);
      CHECK(first.peak.moment.usage == first.result.at_peak_reserved);
      CHECK(first.peak.parts.in_use() == first.result.at_peak_reserved.active);
      const PeakChange change = change_of_peak(first.side(), second.side());
      check_sums(change);
      CHECK(change.total.change() ==
            difference(first.result.peak.reserved, second.result.peak.reserved));
    }
  }
}
