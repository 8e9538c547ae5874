// Sequences: what a replay looks like from outside: curves, segment lives, rows, live bytes, and
// the recording that it would have left.
#include "sim/peak/memory_story.hpp"

#include <array>
#include <string>

#include <catch2/catch.hpp>

#include "sim/peak/live_bytes.hpp"
#include "sim/peak/operation_rows.hpp"
#include "sim/recordings/simulated_recording.hpp"
#include "sim/replay/state_observer.hpp"
#include "tests/support/format_io.hpp"

using namespace highwater;
using namespace highwater::literals;
using namespace highwater::test;

namespace {

ReplayOptions default_options() {
  ReplayOptions options;
  options.version = &version_preset("2.6");
  return options;
}

// Two segments: 2 MiB for x; 20 MiB for y, released by the emptied cache.
const std::string kTrace =
    "conf \nstep 1\nphase forward\na x 1048576 0\na y 3145728 0\nphase backward\nf y\nc\n";

MemoryStory story_of(const RequestTrace& trace, const ReplayOptions& options = default_options()) {
  StoryTeller teller(trace, 1000);
  replay_watched(trace, options, teller);
  return teller.take();
}

}  // namespace

TEST_CASE("thinned curve: a stretch keeps its first, lowest, highest and last value",
          "[sim][memory_story]") {
  ThinnedCurve curve(8);
  const std::array<std::uint64_t, 9> values{5, 6, 1, 7, 9, 9, 8, 3, 4};
  for (std::size_t i = 0; i < values.size(); ++i) {
    curve.add(i, Bytes{values.at(i)});
  }
  CHECK(curve.take() == std::vector<CurvePoint>{{0, 5_B}, {2, 1_B}, {4, 9_B}, {7, 3_B}, {8, 4_B}});
}

TEST_CASE("memory story: curves, segments, incidents and ranges of a short run",
          "[sim][memory_story]") {
  const RequestTrace trace = parse_text(kTrace);
  const MemoryStory story = story_of(trace);
  CHECK(story.events == 7);
  CHECK(story.total[0] == std::vector<CurvePoint>{{0, 0_B}, {2, 2_MiB}, {3, 22_MiB}, {6, 2_MiB}});
  CHECK(story.total[1] == std::vector<CurvePoint>{{0, 0_B}, {2, 1_MiB}, {3, 4_MiB}, {5, 1_MiB}});
  REQUIRE(story.pools.size() == 2);
  const PoolStream large{PoolId{}, PoolKind::large, StreamId{0U}};
  CHECK(story.pools.at(large)[0].back() == CurvePoint{6, 0_B});
  REQUIRE(story.segments.size() == 2);
  CHECK(story.segments[0].range.size == 20_MiB);
  CHECK(story.segments[0].begin == 3);
  CHECK(story.segments[0].end == 6);
  CHECK_FALSE(story.segments[1].end.has_value());
  REQUIRE(story.incidents.size() == 1);
  CHECK(story.incidents[0].kind == Incident::empty_cache);
  REQUIRE(story.ranges.size() == 3);
  CHECK(story.ranges[0].begin == 1);  // forward
  CHECK(story.ranges[0].end == 4);
  CHECK(story.ranges[2].kind == RangeKind::step);
  CHECK(story.ranges[2].end == 7);
}

TEST_CASE("memory story: unmapped pages end a part of what was mapped", "[sim][memory_story]") {
  // 30 MiB of large pages in two pieces; emptying the cache unmaps the second page only.
  const RequestTrace trace =
      parse_text("conf expandable_segments:True\na x 20971520 0\na y 20971520 0\nf y\nc\n");
  ReplayOptions options = default_options();
  options.settings.expandable_segments = true;
  const MemoryStory story = story_of(trace, options);
  CHECK(story.total[0].back().value == 20_MiB);
  REQUIRE(story.segments.size() == 2);
  CHECK(story.segments[0].range.size == 20_MiB);
  CHECK(story.segments[0].end == 3);
  CHECK_FALSE(story.pools.empty());  // the parts add up to the total all along
}

TEST_CASE("memory story: running out of memory is told with what was asked for",
          "[sim][memory_story]") {
  const RequestTrace trace = parse_text("conf \ndevice 20971520\na x 3145728 0\na y 31457280 0\n");
  ReplayOptions options = default_options();
  options.capacity = 20_MiB;
  const MemoryStory story = story_of(trace, options);
  REQUIRE(story.incidents.size() == 1);
  CHECK(story.incidents[0].kind == Incident::out_of_memory);
  CHECK(story.incidents[0].bytes == 30_MiB);
}

TEST_CASE("live bytes: the first highest moment, the end, or a given operation",
          "[sim][live_bytes]") {
  const RequestTrace trace = parse_text(kTrace);
  const std::vector<OlderBlockStack> older;
  const auto observe = [&](StateObserver& observer) {
    replay_watched(trace, default_options(), observer);
  };
  const auto at = [&](LiveMoment moment) { return live_bytes_at(trace, older, moment, observe); };
  CHECK(at({})->total == 4_MiB);
  CHECK(at({})->operation == 1);
  CHECK(at({LiveMoment::Kind::end, 0})->total == 1_MiB);
  CHECK(at({LiveMoment::Kind::operation, 0})->total == 1_MiB);
  CHECK_FALSE(at({LiveMoment::Kind::operation, 4}).has_value());
}

TEST_CASE("simulated recording: entries in PyTorch's order, frees in pairs",
          "[sim][simulated_recording]") {
  const RequestTrace trace = parse_text(kTrace);
  SimulatedRecorder recorder(trace, {}, 3);
  replay_watched(trace, default_options(), recorder);
  const ReplayResult result = replay(trace, default_options());
  const RecordedDevice device = recorder.take_device(result.map);
  const std::vector<Annotation> ranges = recorder.take_annotations();
  CHECK(device.index == 3);
  const std::array expected{RecordedAction::segment_alloc,  RecordedAction::alloc,
                            RecordedAction::segment_alloc,  RecordedAction::alloc,
                            RecordedAction::free_requested, RecordedAction::free_completed,
                            RecordedAction::segment_free};
  REQUIRE(device.entries.size() == expected.size());
  for (std::size_t i = 0; i < expected.size(); ++i) {
    CHECK(device.entries[i].action == expected.at(i));
  }
  CHECK(device.entries[1].size == 1_MiB);
  CHECK(device.entries[2].time_us == EventTimes::kOrigin + 3);
  REQUIRE(device.segments.size() == 1);
  CHECK(device.segments[0].blocks.size() == 2);
  CHECK(device.segments[0].blocks[0].requested == 1_MiB);
  REQUIRE(ranges.size() == 6);
  CHECK(ranges[0].name == "step 1");
  CHECK(ranges[1].name == "forward");
  CHECK_FALSE(ranges[2].is_start);
  CHECK(ranges[3].name == "backward");
  CHECK(ranges[5].name == "step 1");
}
