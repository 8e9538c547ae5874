// Fidelity: recordings of real allocators replay with every decision as recorded; a wrong decision
// is found, described, and counted once.
#include "sim/recordings/fidelity.hpp"

#include <cstdlib>
#include <filesystem>

#include <catch2/catch.hpp>

#include "sim/recordings/recorded_settings.hpp"
#include "tests/support/recording_builder.hpp"
#include "traces/formats/binary/binary_trace.hpp"
#include "traces/formats/bytes/byte_source.hpp"
#include "traces/formats/snapshot/torch_snapshot.hpp"

using namespace highwater;
using namespace highwater::literals;

namespace {

namespace fs = std::filesystem;

std::vector<fs::path> files_in(const fs::path& folder, const std::string& ending) {
  std::vector<fs::path> files;
  if (fs::exists(folder)) {
    for (const auto& entry : fs::recursive_directory_iterator(folder)) {
      if (entry.path().string().ends_with(ending)) {
        files.push_back(entry.path());
      }
    }
  }
  std::ranges::sort(files);
  return files;
}

std::vector<FidelityReplay> follow_all(const Recording& recording) {
  const VersionPreset& version = preset_of(recording);
  const Settings settings = settings_of(recording, version);
  std::vector<FidelityReplay> replays;
  for (const RecordedDevice& device : recording.devices) {
    replays.push_back(replay_as_recorded(device, derive_requests(recording, device, settings),
                                         settings, version));
  }
  return replays;
}

void check_perfect(const std::string& name, const Recording& recording) {
  for (const FidelityReplay& replay : follow_all(recording)) {
    const Fidelity& fidelity = replay.fidelity;
    const std::string divergence =
        fidelity.first_divergence ? fidelity.first_divergence->description : "";
    CAPTURE(name, divergence);
    CHECK(fidelity.alloc_addresses_matched == fidelity.alloc_addresses_compared);
    CHECK(fidelity.segment_events_matched == fidelity.segment_events_recorded);
    CHECK(fidelity.final_segments_matched == fidelity.final_segments_compared);
    CHECK(fidelity.snapshots_matched == fidelity.snapshots_checked);
    CHECK(replay.result.peak.reserved == fidelity.peak_reserved_recorded);
    CHECK(fidelity.resyncs == 0);
  }
}

}  // namespace

TEST_CASE("fidelity: the recordings in this repository replay exactly", "[sim][fidelity]") {
  const auto files = files_in(HIGHWATER_RECORDED_DATA, ".hwt.xz");
  REQUIRE(files.size() >= 5);
  for (const fs::path& file : files) {
    const auto content = read_binary_trace(*open_source(file));
    check_perfect(file.filename().string(), std::get<Recording>(content));
  }
}

TEST_CASE("fidelity: public snapshots of real GPUs replay exactly", "[sim][fidelity]") {
  const auto files = files_in(HIGHWATER_SHARED_DATA "/snapshots", ".pickle.xz");
  if (files.empty()) {
    WARN("skipped: shared data absent");
  }
  for (const fs::path& file : files) {
    const Recording recording = read_torch_snapshot(*open_source(file), {});
    if (file.filename().string().starts_with("drisspg")) {  // edited by hand: states contradict
      const auto replays = follow_all(recording);
      CHECK(replays[0].fidelity.alloc_addresses_matched == 28);
      CHECK(replays[0].fidelity.final_segments_matched == 0);
    } else {
      check_perfect(file.filename().string(), recording);
    }
  }
}

TEST_CASE("fidelity: recordings of real training replay exactly", "[sim][fidelity]") {
  const auto files = files_in(HIGHWATER_SHARED_DATA "/truth", ".pickle.xz");
  if (files.empty()) {
    WARN("skipped: shared data absent");
  }
  // Every seventh keeps a debug build quick; HIGHWATER_ALL_RECORDINGS=1 goes through all of them.
  const std::size_t stride = std::getenv("HIGHWATER_ALL_RECORDINGS") != nullptr ? 1 : 7;
  for (std::size_t i = 0; i < files.size(); i += stride) {
    check_perfect(files[i].filename().string(), read_torch_snapshot(*open_source(files[i]), {}));
  }
}

TEST_CASE("fidelity: a wrong address is described, corrected and counted once", "[sim][fidelity]") {
  constexpr std::uint64_t kStart = 0x7f0000000000;
  const std::uint64_t second = kStart + (4_MiB).count();
  RecordingBuilder builder;  // the second block was recorded 2 MiB too high
  builder.segment_alloc(kStart, 20_MiB).alloc(kStart, 2_MiB).alloc(second, 2_MiB);
  builder.alloc(kStart + (2_MiB).count(), 2_MiB);
  builder.final_segment(kStart, {{2_MiB, BlockState::active_allocated},
                                 {2_MiB, BlockState::active_allocated},
                                 {2_MiB, BlockState::active_allocated},
                                 {14_MiB, BlockState::inactive}});
  const auto replay = follow_all(builder.get()).front();
  CHECK(replay.fidelity.alloc_addresses_compared == 3);
  CHECK(replay.fidelity.alloc_addresses_matched == 2);
  CHECK(replay.fidelity.resyncs == 1);
  CHECK(replay.fidelity.final_segments_matched == 1);
  REQUIRE(replay.fidelity.first_divergence);
  CHECK(replay.fidelity.first_divergence->entry == 2);
  CHECK(replay.fidelity.first_divergence->description ==
        "recorded alloc of 2.00 MiB (2097152 bytes) at 0x7f0000400000; the model put it at "
        "0x7f0000200000");
}

TEST_CASE("fidelity: a segment that the model did not expect is put in place", "[sim][fidelity]") {
  constexpr std::uint64_t kStart = 0x7f0000000000;
  constexpr std::uint64_t kElsewhere = 0x7f0010000000;
  RecordingBuilder builder;  // the second request would have fitted into the first segment
  builder.segment_alloc(kStart, 20_MiB).alloc(kStart, 2_MiB);
  builder.segment_alloc(kElsewhere, 20_MiB).alloc(kElsewhere, 2_MiB);
  builder.final_segment(kStart,
                        {{2_MiB, BlockState::active_allocated}, {18_MiB, BlockState::inactive}});
  builder.final_segment(kElsewhere,
                        {{2_MiB, BlockState::active_allocated}, {18_MiB, BlockState::inactive}});
  const auto replay = follow_all(builder.get()).front();
  CHECK(replay.fidelity.segment_events_matched == 1);
  CHECK(replay.fidelity.alloc_addresses_matched == 1);
  CHECK(replay.fidelity.final_segments_matched == 2);
  CHECK(replay.fidelity.first_divergence->entry == 2);
}
