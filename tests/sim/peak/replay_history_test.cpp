// The bounded history of a run: moments, marks and maps, on traces small enough to count by hand.
#include "sim/peak/replay_history.hpp"

#include <algorithm>

#include <catch2/catch.hpp>

#include "tests/sim/peak/two_segments.hpp"
#include "tests/support/format_io.hpp"

using namespace highwater;
using namespace highwater::literals;
using namespace highwater::test;

namespace {

/// A history of operations, and what lay where at its moments.
struct History : ReplayHistory {
  std::vector<MemoryState> states;
};

History history_of(const std::string& text, std::optional<Bytes> capacity = std::nullopt,
                   const HistoryRequest& request = {}) {
  const RequestTrace trace = test::parse_text("conf \n" + text);
  ReplayOptions options = default_options();
  options.capacity = capacity;
  const auto replay = [&](StateObserver& observer) { replay_watched(trace, options, observer); };
  History history{collect_history(trace, replay, request), {}};
  history.states = states_at(history.moments, trace.allocation_count, replay);
  return history;
}

ReplayHistory history_by_event(const RequestTrace& trace,
                               const ReplayOptions& options = default_options()) {
  HistoryRequest request;
  request.axis = HistoryAxis::events;
  request.stretches = 1000;
  request.segments = 1000;
  const auto replay = [&](StateObserver& observer) { replay_watched(trace, options, observer); };
  return collect_history(trace, replay, request);
}

std::size_t index_of(const History& history, MomentKind kind) {
  const auto found = std::ranges::find(history.moments, kind, &Moment::kind);
  REQUIRE(found != history.moments.end());
  return static_cast<std::size_t>(found - history.moments.begin());
}

const Moment& moment(const History& history, MomentKind kind) {
  return history.moments[index_of(history, kind)];
}

const MemoryState& state(const History& history, MomentKind kind) {
  return history.states[index_of(history, kind)];
}

Bytes reserved_in(const MemoryMap& map) {
  Bytes sum;
  for (const MapSegment& segment : map.segments) {
    sum += segment.size;
  }
  return sum;
}

}  // namespace

TEST_CASE("history: each key moment has the map of its own operation", "[sim][history]") {
  // 12 MiB and 20 MiB: segments of their own; then the first is freed and stays in the cache.
  const History history = history_of("a x 12582912 0\na y 20971520 0\nf x\na z 1000 0\n");
  CHECK(history.length == 4);
  CHECK(history.timeline.buckets().size() == 4);
  const Moment& allocated = moment(history, MomentKind::peak_allocated);
  CHECK(allocated.operation() == 1);
  CHECK(allocated.usage.allocated == 32_MiB);
  const MemoryState& then = state(history, MomentKind::peak_allocated);
  REQUIRE(then.map.segments.size() == 2);
  CHECK(then.owners == std::vector{AllocationId(0U), AllocationId(1U)});
  const Moment& fragmented = moment(history, MomentKind::most_fragmented);
  CHECK(fragmented.operation() == 3);  // 2 MiB less 1024 bytes; the free 12 MiB are a whole segment
  CHECK(moment(history, MomentKind::peak_reserved).usage.reserved == 34_MiB);
  for (std::size_t i = 0; i < history.moments.size(); ++i) {
    CHECK(reserved_in(history.states[i].map) == history.moments[i].usage.reserved);
  }
}

TEST_CASE("history: a block under a reused handle belongs to the newer allocation",
          "[sim][history]") {
  const History history = history_of("a x 12582912 0\nf x\na y 12582912 0\n");
  CHECK(state(history, MomentKind::end).owners == std::vector{AllocationId(1U)});
}

TEST_CASE("history: failures, retries and empty_cache are marked", "[sim][history]") {
  // 40 MiB: the second request fits once the cache is released; the third never does.
  const History history =
      history_of("a x 25165824 0\nf x\na y 29360128 0\na z 29360128 0\nf y\nc\n", 40_MiB);
  REQUIRE(history.marks.size() == 3);
  CHECK(history.marks[0].kind == MarkKind::retry);
  CHECK(history.marks[0].at == 2);
  CHECK(history.marks[0].bytes == 28_MiB);
  CHECK(history.marks[1].kind == MarkKind::out_of_memory);
  CHECK(history.marks[1].at == 3);
  CHECK(history.marks[2].kind == MarkKind::empty_cache);
  CHECK(history.marks[2].bytes == 28_MiB);
  CHECK(moment(history, MomentKind::out_of_memory).usage.reserved == 28_MiB);
}

TEST_CASE("history: steps come from markers, or from the allocations that begin them",
          "[sim][history]") {
  const std::string plain = "a x 1000 0\na y 1000 0\nf y\na z 1000 0\nf z\n";
  HistoryRequest begins;
  begins.step_begins = {AllocationId(1U), AllocationId(2U)};
  const History found = history_of(plain, {}, begins);
  REQUIRE(found.of(RangeKind::step).items.size() == 2);
  CHECK(found.of(RangeKind::step).items[0].begin == 1);
  CHECK(found.of(RangeKind::step).items[1].begin == 3);
  const History marked = history_of(
      "a x 1000 0\nstep 0\na y 1000 0\nf y\nstep 1\nphase forward\n"
      "a z 1000 0\nf z\n");
  REQUIRE(marked.of(RangeKind::step).items.size() == 2);
  CHECK(marked.of(RangeKind::step).items[0].begin == found.of(RangeKind::step).items[0].begin);
  CHECK(marked.of(RangeKind::step).items[1].begin == found.of(RangeKind::step).items[1].begin);
  CHECK(moment(found, MomentKind::step_end).operation() == 2);
  CHECK(moment(marked, MomentKind::step_end).operation() == 2);
  REQUIRE(marked.of(RangeKind::phase).items.size() == 1);
  CHECK(marked.of(RangeKind::phase).items[0].begin == 3);
}

TEST_CASE("history: its size is bounded, and what is left out is counted", "[sim][history]") {
  std::string text;
  for (int i = 0; i < 300; ++i) {
    text += "step " + std::to_string(i) + "\na b" + std::to_string(i) + " 1000 0\nf b" +
            std::to_string(i) + "\nc\n";
  }
  HistoryRequest request;
  request.stretches = 16;
  request.marks = 10;
  request.ranges = 20;
  request.moments = {.ooms = 1, .step_ends = 3};
  const History history = history_of(text, {}, request);
  CHECK(history.timeline.buckets().size() <= 16);
  CHECK(history.marks.size() == 10);
  CHECK(history.mark_counts[static_cast<std::size_t>(MarkKind::empty_cache)] == 300);
  CHECK(history.of(RangeKind::step).items.size() == 20);
  CHECK(history.of(RangeKind::step).items.back().value == 19);
  CHECK(history.of(RangeKind::step).left_out() == 280);
  std::vector<std::uint64_t> ends;
  for (const Moment& any : history.moments) {
    if (any.kind == MomentKind::step_end) {
      ends.push_back(any.step.value());
    }
  }
  CHECK(ends == std::vector<std::uint64_t>{0, 1, 299});
}

TEST_CASE("history: an empty trace has none", "[sim][history]") {
  const History history = history_of("");
  CHECK(history.moments.empty());
  CHECK(history.length == 0);
}

TEST_CASE("history by event: curves, segments, marks and ranges of a short run", "[sim][history]") {
  const RequestTrace trace = test::parse_text(kTrace);
  const ReplayHistory history = history_by_event(trace);
  CHECK(history.length == 7);
  CHECK(history.timeline.curve(Curve::reserved).points() ==
        std::vector<CurvePoint>{{0, 0_B}, {2, 2_MiB}, {3, 22_MiB}, {6, 2_MiB}});
  CHECK(history.timeline.curve(Curve::allocated).points() ==
        std::vector<CurvePoint>{{0, 0_B}, {2, 1_MiB}, {3, 4_MiB}, {5, 1_MiB}});
  REQUIRE(history.pools.size() == 2);
  const PoolStream large{PoolId{}, PoolKind::large, StreamId{0U}};
  CHECK(history.pools.at(large).curve(Curve::reserved).points().back() == CurvePoint{6, 0_B});
  REQUIRE(history.segments.items.size() == 2);
  CHECK(history.segments.items[0].range.size == 20_MiB);
  CHECK(history.segments.items[0].begin == 3);
  CHECK(history.segments.items[0].end == 6);
  CHECK_FALSE(history.segments.items[1].end.has_value());
  REQUIRE(history.marks.size() == 1);
  CHECK(history.marks[0].kind == MarkKind::empty_cache);
  REQUIRE(history.of(RangeKind::phase).items.size() == 2);
  CHECK(history.of(RangeKind::phase).items[0].begin == 1);  // forward
  CHECK(history.of(RangeKind::phase).items[0].end == 4);
  REQUIRE(history.of(RangeKind::step).items.size() == 1);
  CHECK(history.of(RangeKind::step).items[0].end == 7);
}

TEST_CASE("history by event: unmapped pages end a part of what was mapped", "[sim][history]") {
  // 30 MiB of large pages in two pieces; emptying the cache unmaps the second page only.
  const RequestTrace trace =
      test::parse_text("conf expandable_segments:True\na x 20971520 0\na y 20971520 0\nf y\nc\n");
  ReplayOptions options = default_options();
  options.settings.expandable_segments = true;
  const ReplayHistory history = history_by_event(trace, options);
  CHECK(history.timeline.curve(Curve::reserved).points().back().value == 20_MiB);
  REQUIRE(history.segments.items.size() == 2);
  CHECK(history.segments.items[0].range.size == 20_MiB);
  CHECK(history.segments.items[0].end == 3);
  CHECK_FALSE(history.pools.empty());  // the parts add up to the total all along
}

TEST_CASE("history by event: running out of memory is told with what was asked for",
          "[sim][history]") {
  const RequestTrace trace =
      test::parse_text("conf \ndevice 20971520\na x 3145728 0\na y 31457280 0\n");
  ReplayOptions options = default_options();
  options.capacity = 20_MiB;
  const ReplayHistory history = history_by_event(trace, options);
  REQUIRE(history.marks.size() == 1);
  CHECK(history.marks[0].kind == MarkKind::out_of_memory);
  CHECK(history.marks[0].bytes == 30_MiB);
}

TEST_CASE("history: the longest ranges are kept where that is asked for", "[sim][history]") {
  HistoryRequest request;
  request.ranges = 2;
  request.kept_ranges = KeptRanges::longest;
  const History history =
      history_of("step 0\nc\nstep 1\nc\nc\nstep 2\nc\nstep 3\nc\nc\nc\n", {}, request);
  const KeptItems<HistoryRange>& steps = history.of(RangeKind::step);
  REQUIRE(steps.items.size() == 2);
  CHECK(steps.items[0].value == 1);
  CHECK(steps.items[1].value == 3);
  CHECK(steps.left_out() == 2);
}
