// Rules: which release and which settings a recording is taken to have run under.
#include "sim/recordings/recorded_settings.hpp"

#include <catch2/catch.hpp>

#include "traces/error.hpp"

using namespace highwater;
using namespace highwater::literals;

namespace {

Recording written_by(const std::string& oldest, const std::string& newest) {
  Recording recording;
  recording.writer = {oldest, newest};
  recording.settings = RecordedSettings{};
  return recording;
}

}  // namespace

TEST_CASE("recorded_settings: the preset of the newest possible writer is taken",
          "[sim][recorded_settings]") {
  CHECK(preset_of(written_by("2.3", "2.4")).name == "2.6");
  CHECK(preset_of(written_by("2.5", "2.7")).name == "2.6");
  CHECK(preset_of(written_by("2.9", "2.9")).name == "2.8");
  CHECK(preset_of(written_by("2.12", "2.12")).name == "2.12");
  CHECK(preset_of(written_by("2.13", "")).name == "2.13");
}

TEST_CASE("recorded_settings: a settings string that only another preset knows decides",
          "[sim][recorded_settings]") {
  Recording recording = written_by("2.8", "2.8");
  recording.settings->conf = "large_segment_size_mb:40";
  CHECK(preset_of(recording).name == "2.11");
  CHECK_THROWS_AS(settings_of(recording, version_preset("2.6")), SettingsError);
}

TEST_CASE("recorded_settings: parsed fields win over the raw string", "[sim][recorded_settings]") {
  Recording recording = written_by("2.6", "2.6");
  recording.settings->conf = "max_split_size_mb:64,max_non_split_rounding_mb:32";
  recording.settings->max_split_size = -1;
  recording.settings->expandable_segments = true;
  recording.settings->roundup_power2_divisions = {{1, 2}, {4, 8}, {65536, 4}};
  const Settings settings = settings_of(recording, version_preset("2.6"));
  CHECK(settings.max_split_size == kUnlimited);
  CHECK(settings.expandable_segments);
  CHECK(settings.max_non_split_rounding_size == 32_MiB);
  CHECK(settings.roundup_power2_divisions[0] == 2);
  CHECK(settings.roundup_power2_divisions[2] == 8);
  CHECK(settings.roundup_power2_divisions[15] == 4);
  CHECK(settings_from_fields(recording).max_non_split_rounding_size == 20_MiB);
}

TEST_CASE("recorded_settings: ranges of releases are said in words", "[sim][recorded_settings]") {
  CHECK(to_string(WriterVersion{"2.5", "2.7"}) == "2.5 to 2.7");
  CHECK(to_string(WriterVersion{"2.8", "2.8"}) == "2.8");
  CHECK(to_string(WriterVersion{"2.12", ""}) == "2.12 or later");
  CHECK(to_string(WriterVersion{"", "2.1"}) == "2.1 or older");
}
