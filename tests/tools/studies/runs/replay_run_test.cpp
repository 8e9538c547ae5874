// A recording under other settings is compared with itself first.
#include "tools/studies/runs/replay_run.hpp"

#include <catch2/catch.hpp>

#include "tests/support/recording_builder.hpp"
#include "tools/studies/runs/own_settings.hpp"

using namespace highwater;
using namespace highwater::literals;
using Catch::Matchers::Contains;

namespace {

constexpr std::uint64_t kOld = 0x7f0000000000;
constexpr std::uint64_t kNew = 0x7f0010000000;

DeviceReplay replay_of(const Recording& recording, const std::optional<std::string>& alloc_conf) {
  ReplayRequest request;
  request.memory.alloc_conf = alloc_conf;
  return replay_recorded(recording, recording.devices.front(), "r.pickle", request).replay;
}

/// 30 MiB went back to the device before 40 MiB were taken: no entry says whether the program
/// emptied its cache or the device had no more.
Recording of_two_minds() {
  RecordingBuilder builder;
  builder.segment_alloc(kOld, 30_MiB).alloc(kOld, 30_MiB).free(kOld, 30_MiB);
  builder.segment_free(kOld, 30_MiB).segment_alloc(kNew, 40_MiB).alloc(kNew, 40_MiB);
  builder.final_segment(kNew, {{40_MiB, BlockState::active_allocated}});
  return builder.take();
}

}  // namespace

TEST_CASE("replay: what a recording leaves open stands beside other settings", "[replay]") {
  const DeviceReplay other = replay_of(of_two_minds(), "max_split_size_mb:32");
  REQUIRE(other.own_settings_error.has_value());
  CHECK(*other.own_settings_error == Approx(70.0 / 40 - 1));
  CHECK_THAT(uncertainty(other).value_or(""),
             Contains("uncertain by 75.0 %") && Contains("that much more than was recorded"));
  CHECK_FALSE(replay_of(of_two_minds(), std::nullopt).own_settings_error.has_value());
}

TEST_CASE("replay: a recording that tells all has no error of its own", "[replay]") {
  RecordingBuilder builder;
  builder.segment_alloc(kOld, 30_MiB).alloc(kOld, 30_MiB);
  builder.final_segment(kOld, {{30_MiB, BlockState::active_allocated}});
  const DeviceReplay other = replay_of(builder.take(), "max_split_size_mb:32");
  CHECK(other.own_settings_error == 0.0);
  CHECK_FALSE(uncertainty(other).has_value());
}
