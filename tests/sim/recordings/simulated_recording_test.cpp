// Sequences: the recording that a replay would have left.
#include "sim/recordings/simulated_recording.hpp"

#include <array>
#include <string>

#include <catch2/catch.hpp>

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

}  // namespace

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
  CHECK(device.segments[0].size == 2_MiB);
  CHECK(device.segments[0].blocks.size() == 2);
  CHECK(device.segments[0].blocks[0].requested == 1_MiB);
  REQUIRE(ranges.size() == 6);
  CHECK(ranges[0].name == "step 1");
  CHECK(ranges[1].name == "forward");
  CHECK_FALSE(ranges[2].is_start);
  CHECK(ranges[3].name == "backward");
  CHECK(ranges[5].name == "step 1");
}
