// The bounded history of a run: moments, marks and maps, on traces small enough to count by hand.
#include "sim/peak/memory_history.hpp"

#include <algorithm>

#include <catch2/catch.hpp>

#include "tests/support/format_io.hpp"

using namespace highwater;
using namespace highwater::literals;

namespace {

MemoryHistory history_of(const std::string& text, std::optional<Bytes> capacity = std::nullopt,
                         const std::vector<AllocationId>& step_begins = {},
                         const HistoryLimits& limits = {}) {
  const RequestTrace trace = test::parse_text("conf \n" + text);
  ReplayOptions options;
  options.version = &version_preset("2.6");
  options.capacity = capacity;
  return collect_history(
      trace.allocation_count,
      [&](StateObserver& observer) { replay_watched(trace, options, observer); }, step_begins,
      limits);
}

const KeyMoment& moment(const MemoryHistory& history, MomentKind kind) {
  const auto found = std::ranges::find(history.moments, kind, &KeyMoment::kind);
  REQUIRE(found != history.moments.end());
  return *found;
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
  const MemoryHistory history = history_of("a x 12582912 0\na y 20971520 0\nf x\na z 1000 0\n");
  CHECK(history.operations == 4);
  CHECK(history.timeline.buckets().size() == 4);
  const KeyMoment& allocated = moment(history, MomentKind::peak_allocated);
  CHECK(allocated.operation == 1);
  CHECK(allocated.usage.allocated == 32_MiB);
  REQUIRE(allocated.map.segments.size() == 2);
  CHECK(allocated.owners == std::vector{AllocationId(0U), AllocationId(1U)});
  const KeyMoment& fragmented = moment(history, MomentKind::most_fragmented);
  CHECK(fragmented.operation == 3);  // 2 MiB less 1024 bytes; the free 12 MiB are a whole segment
  CHECK(moment(history, MomentKind::peak_reserved).usage.reserved == 34_MiB);
  for (const KeyMoment& any : history.moments) {
    CHECK(reserved_in(any.map) == any.usage.reserved);
  }
}

TEST_CASE("history: a block that took over a handle is its own owner's", "[sim][history]") {
  const MemoryHistory history = history_of("a x 12582912 0\nf x\na y 12582912 0\n");
  CHECK(moment(history, MomentKind::end).owners == std::vector{AllocationId(1U)});
}

TEST_CASE("history: failures, retries and empty_cache are marked", "[sim][history]") {
  // 40 MiB: the second request fits once the cache is released; the third never does.
  const MemoryHistory history =
      history_of("a x 25165824 0\nf x\na y 29360128 0\na z 29360128 0\nf y\nc\n", 40_MiB);
  REQUIRE(history.marks.size() == 3);
  CHECK(history.marks[0].kind == MarkKind::retry);
  CHECK(history.marks[0].operation == 2);
  CHECK(history.marks[0].bytes == 28_MiB);
  CHECK(history.marks[1].kind == MarkKind::out_of_memory);
  CHECK(history.marks[1].operation == 3);
  CHECK(history.marks[2].kind == MarkKind::empty_cache);
  CHECK(history.marks[2].bytes == 28_MiB);
  CHECK(moment(history, MomentKind::out_of_memory).usage.reserved == 28_MiB);
}

TEST_CASE("history: steps come from markers, or from the allocations that begin them",
          "[sim][history]") {
  const std::string plain = "a x 1000 0\na y 1000 0\nf y\na z 1000 0\nf z\n";
  const MemoryHistory found = history_of(plain, {}, {AllocationId(1U), AllocationId(2U)});
  REQUIRE(found.steps.size() == 2);
  CHECK(found.steps[0].operation == 1);
  CHECK(found.steps[1].operation == 3);
  const MemoryHistory marked = history_of(
      "a x 1000 0\nstep 0\na y 1000 0\nf y\nstep 1\nphase forward\n"
      "a z 1000 0\nf z\n");
  REQUIRE(marked.steps.size() == 2);
  CHECK(marked.steps[0].operation == found.steps[0].operation);
  CHECK(marked.steps[1].operation == found.steps[1].operation);
  CHECK(moment(found, MomentKind::step_end).operation == 2);
  CHECK(moment(marked, MomentKind::step_end).operation == 2);
  REQUIRE(marked.phases.size() == 1);
  CHECK(marked.phases[0].operation == 3);
}

TEST_CASE("history: its size is bounded, and what is left out is counted", "[sim][history]") {
  std::string text;
  for (int i = 0; i < 300; ++i) {
    text += "step " + std::to_string(i) + "\na b" + std::to_string(i) + " 1000 0\nf b" +
            std::to_string(i) + "\nc\n";
  }
  const HistoryLimits limits{
      .buckets = 16, .marks = 10, .stretches = 20, .ooms = 1, .step_ends = 3};
  const MemoryHistory history = history_of(text, {}, {}, limits);
  CHECK(history.timeline.buckets().size() <= 16);
  CHECK(history.marks.size() == 10);
  CHECK(history.mark_counts[static_cast<std::size_t>(MarkKind::empty_cache)] == 300);
  CHECK(history.steps.size() == 20);
  CHECK_FALSE(history.has_all_stretches);
  std::vector<std::uint64_t> ends;
  for (const KeyMoment& any : history.moments) {
    if (any.kind == MomentKind::step_end) {
      ends.push_back(any.step.value());
    }
  }
  CHECK(ends == std::vector<std::uint64_t>{0, 1, 299});
}

TEST_CASE("history: an empty trace has none", "[sim][history]") {
  const MemoryHistory history = history_of("");
  CHECK(history.moments.empty());
  CHECK(history.operations == 0);
}
