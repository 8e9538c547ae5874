// Which allocations were captured, as pools, marks and failures of PyTorch 2.15 show it, and what
// notes say of calls that release memory.
#include "sim/recordings/capture_sessions.hpp"

#include <catch2/catch.hpp>

#include "sim/recordings/derivation.hpp"
#include "sim/recordings/fidelity.hpp"
#include "tests/support/recording_builder.hpp"

using namespace highwater;
using namespace highwater::literals;

namespace {

constexpr std::uint64_t kCachedAt = 0x7f0000000000;
constexpr std::uint64_t kPoolAt = 0x7f0010000000;
constexpr std::uint64_t kLaterAt = 0x7f0020000000;
constexpr PoolId kGraphs{1, 0};
constexpr PoolId kHandle{0, 1};

/// 30 MiB that the common pools have cached, and a request of `pool` that fails beside them.
RecordingBuilder failed_beside_cache(PoolId pool) {
  RecordingBuilder builder;
  builder.segment_alloc(kCachedAt, 30_MiB).alloc(kCachedAt, 30_MiB).free(kCachedAt, 30_MiB);
  builder.segment_alloc(kPoolAt, 20_MiB).in_pool(pool).alloc(kPoolAt, 20_MiB).in_pool(pool);
  builder.entry(RecordedAction::oom, (5_MiB).count(), 40_MiB).in_pool(pool);
  builder.final_segment(kCachedAt, {{30_MiB, BlockState::inactive}});
  builder.final_segment(kPoolAt, {{20_MiB, BlockState::active_allocated}}, pool);
  return builder;
}

Recording of_2_15(RecordingBuilder& builder, const std::vector<Annotation>& notes = {}) {
  Recording recording = builder.take();
  recording.writer = {.oldest = "2.15", .newest = "2.15"};
  recording.annotations = notes;
  return recording;
}

Annotation note(std::string name, std::uint64_t entry) {
  return {.name = std::move(name), .entry = entry};
}

DerivedTrace derived_of(const Recording& recording) {
  return derive_requests(recording, recording.devices.front(), {});
}

bool replays_whole(const Recording& recording) {
  return replay_as_recorded(recording.devices.front(), derived_of(recording), {},
                            version_preset("2.15"))
      .fidelity.is_perfect();
}

/// "capture 1; end; release; empty_cache; ..." of all events but allocations and frees.
std::string calls_of(const DerivedTrace& derived) {
  std::string text;
  for (const Event& event : derived.requests.events) {
    const bool is_capture = session_kind_of(event.value) == SessionKind::capture;
    switch (event.kind) {
      case EventKind::pool_begin:
        text += is_capture ? "capture; " : "begin; ";
        break;
      case EventKind::pool_end:
        text += "end; ";
        break;
      case EventKind::pool_release:
        text += event.value == 1 ? "release now; " : "release; ";
        break;
      case EventKind::empty_cache:
        text += "empty_cache; ";
        break;
      default:
        break;
    }
  }
  return text;
}

}  // namespace

TEST_CASE("capture sessions: the pool of a graph tells, that of a handle does not",
          "[sim][derivation][captures]") {
  RecordingBuilder builder;
  builder.segment_alloc(kPoolAt, 20_MiB).in_pool(kGraphs).alloc(kPoolAt, 20_MiB).in_pool(kGraphs);
  const Recording recording = of_2_15(builder);
  const CaptureSessions sessions(recording, recording.devices.front());
  CHECK(sessions.kind_of(kGraphs, 1) == SessionKind::capture);
  CHECK(sessions.kind_of(kHandle, 1) == SessionKind::routed);
  CHECK(sessions.kind_of({}, 1) == SessionKind::routed);
}

TEST_CASE("capture sessions: marks tell of a handle's pool where captures are",
          "[sim][derivation][captures]") {
  RecordingBuilder builder;
  for (int i = 0; i < 4; ++i) {
    builder.alloc(kPoolAt, 1_MiB).in_pool(kHandle);
  }
  const Recording recording =
      of_2_15(builder, {note("cuda graph capture begins", 1), note("cuda graph capture ends", 3)});
  const CaptureSessions sessions(recording, recording.devices.front());
  std::string kinds;
  for (std::size_t entry = 0; entry < 4; ++entry) {
    kinds += sessions.kind_of(kHandle, entry) == SessionKind::capture ? "c" : "-";
  }
  CHECK(kinds == "-cc-");
  CHECK_FALSE(sessions.is_marked_around(1));
  CHECK(sessions.is_marked_around(2));
  CHECK_FALSE(sessions.is_marked_around(3));
}

TEST_CASE("capture sessions: between two captures nothing is captured",
          "[sim][derivation][captures]") {
  RecordingBuilder builder;
  for (int i = 0; i < 4; ++i) {
    builder.alloc(kPoolAt, 1_MiB).in_pool(kHandle);
  }
  const Recording recording =
      of_2_15(builder, {note("cuda graph capture begins", 0), note("cuda graph capture ends", 2),
                        note("cuda graph capture begins", 2), note("cuda graph capture ends", 4)});
  const CaptureSessions sessions(recording, recording.devices.front());
  CHECK(sessions.is_marked_around(1));
  CHECK_FALSE(sessions.is_marked_around(2));
  CHECK(sessions.is_marked_at(2));
}

TEST_CASE("capture sessions: what fails beside cached memory was captured",
          "[sim][derivation][captures]") {
  const PoolId pool = GENERATE(kGraphs, kHandle);
  RecordingBuilder builder = failed_beside_cache(pool);
  const Recording recording = of_2_15(builder);
  CHECK(calls_of(derived_of(recording)) == "capture; end; ");
  CHECK(replays_whole(recording));
}

TEST_CASE("capture sessions: a failure without cached memory tells nothing",
          "[sim][derivation][captures]") {
  RecordingBuilder builder;
  builder.segment_alloc(kPoolAt, 20_MiB).in_pool(kHandle).alloc(kPoolAt, 20_MiB).in_pool(kHandle);
  builder.entry(RecordedAction::oom, (5_MiB).count(), 40_MiB).in_pool(kHandle);
  CHECK(calls_of(derived_of(of_2_15(builder))) == "begin; end; ");
}

TEST_CASE("capture sessions: a pool that serves was not given up when its own memory went",
          "[sim][derivation][captures]") {
  RecordingBuilder builder;
  builder.segment_alloc(kPoolAt, 60_MiB).in_pool(kGraphs).alloc(kPoolAt, 60_MiB).in_pool(kGraphs);
  builder.free_requested(kPoolAt, 60_MiB).in_pool(kGraphs);
  builder.free_completed(kPoolAt, 60_MiB).in_pool(kGraphs);
  builder.segment_free(kPoolAt, 60_MiB).in_pool(kGraphs);  // oversize by max_split_size
  builder.segment_alloc(kLaterAt, 70_MiB).in_pool(kGraphs);
  builder.alloc(kLaterAt, 70_MiB).in_pool(kGraphs);
  const Recording recording = of_2_15(builder);
  Settings limited;
  limited.max_split_size = 32_MiB;
  CHECK(calls_of(derive_requests(recording, recording.devices.front(), limited)) ==
        "capture; end; ");
  CHECK(calls_of(derived_of(recording)) == "capture; end; release now; capture; end; ");
}

TEST_CASE("capture sessions: garbage of the common pools is collected in a capture, too",
          "[sim][derivation][captures]") {
  RecordingBuilder builder;
  builder.segment_alloc(kCachedAt, 30_MiB).alloc(kCachedAt, 30_MiB).free(kCachedAt, 30_MiB);
  builder.segment_free(kCachedAt, 30_MiB);
  builder.segment_alloc(kPoolAt, 40_MiB).in_pool(kGraphs).alloc(kPoolAt, 40_MiB).in_pool(kGraphs);
  const Recording recording = of_2_15(builder);
  Settings collecting;
  collecting.garbage_collection_threshold = 0.5;
  CHECK(calls_of(derived_of(recording)) == "empty_cache; capture; end; ");
  CHECK(calls_of(derive_requests(recording, recording.devices.front(), collecting)) ==
        "capture; end; ");
}

TEST_CASE("capture sessions: a free that waits for other streams does not end with the capture",
          "[sim][derivation][captures]") {
  RecordingBuilder builder;
  builder.segment_alloc(kPoolAt, 20_MiB).in_pool(kGraphs).alloc(kPoolAt, 20_MiB).in_pool(kGraphs);
  builder.free_requested(kPoolAt, 20_MiB).in_pool(kGraphs);
  builder.segment_alloc(kCachedAt, 20_MiB).alloc(kCachedAt, 20_MiB);
  builder.free_completed(kPoolAt, 20_MiB).in_pool(kGraphs);  // later than with the first request
  builder.segment_alloc(kLaterAt, 20_MiB).alloc(kLaterAt, 20_MiB);
  builder.final_segment(kCachedAt, {{20_MiB, BlockState::active_allocated}});
  builder.final_segment(kPoolAt, {{20_MiB, BlockState::inactive}}, kGraphs);
  builder.final_segment(kLaterAt, {{20_MiB, BlockState::active_allocated}});
  CHECK(replays_whole(of_2_15(builder)));
}

TEST_CASE("capture sessions: since 2.13 a MemPool's allocation releases cached memory",
          "[sim][derivation][captures]") {
  RecordingBuilder builder;
  builder.segment_alloc(kCachedAt, 30_MiB).alloc(kCachedAt, 30_MiB).free(kCachedAt, 30_MiB);
  builder.segment_free(kCachedAt, 30_MiB);
  builder.segment_alloc(kPoolAt, 40_MiB).in_pool(kHandle).alloc(kPoolAt, 40_MiB).in_pool(kHandle);
  builder.final_segment(kPoolAt, {{40_MiB, BlockState::active_allocated}}, kHandle);
  Recording recording = of_2_15(builder, {note("allocator: noted exactly", 0)});
  CHECK(calls_of(derived_of(recording)) == "begin; end; ");
  CHECK(replays_whole(recording));
  recording.writer = {.oldest = "2.12", .newest = "2.12"};
  CHECK(calls_of(derived_of(recording)) == "empty_cache; begin; end; ");
}

TEST_CASE("capture sessions: a call that has returned did not release what follows",
          "[sim][derivation][allocator_calls]") {
  RecordingBuilder builder;
  builder.segment_alloc(kCachedAt, 30_MiB).alloc(kCachedAt, 30_MiB).free(kCachedAt, 30_MiB);
  builder.segment_free(kCachedAt, 30_MiB).segment_alloc(kLaterAt, 40_MiB).alloc(kLaterAt, 40_MiB);
  const std::vector<Annotation> found_nothing{note("allocator: noted exactly", 0),
                                              note("allocator: empty_cache", 2),
                                              note("allocator: done", 2)};
  const DerivedTrace derived = derived_of(of_2_15(builder, found_nothing));
  CHECK(calls_of(derived) == "empty_cache; ");
  CHECK(derived.requests.events[1].kind == EventKind::empty_cache);  // before the free
  CHECK(derived.possible_empty_caches.empty());
}

TEST_CASE("capture sessions: pages of a pool are found without the names of pools",
          "[sim][derivation]") {
  Settings expandable;
  expandable.expandable_segments = true;
  RecordingBuilder builder;
  builder.entry(RecordedAction::segment_map, kPoolAt, 20_MiB).alloc(kPoolAt, 20_MiB);
  builder.final_segment(kPoolAt, {{20_MiB, BlockState::active_allocated}}, kGraphs);
  Recording recording = builder.take();
  recording.devices.front().segments.front().is_expandable = true;
  const RecordedDevice& device = recording.devices.front();
  CHECK(replay_as_recorded(device, derive_requests(recording, device, expandable), expandable,
                           version_preset("2.8"))
            .fidelity.is_perfect());
}

TEST_CASE("capture sessions: pages are reserved where a later request maps the first of them",
          "[sim][derivation]") {
  Settings expandable;
  expandable.expandable_segments = true;
  RecordingBuilder builder;
  builder.entry(RecordedAction::oom, (5_MiB).count(), 40_MiB).in_pool(kGraphs);
  builder.entry(RecordedAction::segment_map, kPoolAt, 20_MiB).in_pool(kGraphs);
  builder.alloc(kPoolAt, 20_MiB).in_pool(kGraphs);
  builder.final_segment(kPoolAt, {{20_MiB, BlockState::active_allocated}}, kGraphs);
  Recording recording = of_2_15(builder);
  recording.devices.front().segments.front().is_expandable = true;
  const RecordedDevice& device = recording.devices.front();
  CHECK(replay_as_recorded(device, derive_requests(recording, device, expandable), expandable,
                           version_preset("2.15"))
            .fidelity.is_perfect());
}

// The search would have found the 60 MiB, had they been free by then.
TEST_CASE("capture sessions: a free that completed with the wait of a retry had to wait",
          "[sim][derivation][allocator_calls]") {
  const Bytes wanted = GENERATE(50_MiB, 70_MiB);
  RecordingBuilder builder;
  builder.segment_alloc(kCachedAt, 60_MiB).alloc(kCachedAt, 60_MiB).free(kCachedAt, 60_MiB);
  builder.segment_free(kCachedAt, 60_MiB).segment_alloc(kLaterAt, wanted).alloc(kLaterAt, wanted);
  builder.final_segment(kLaterAt, {{wanted, BlockState::active_allocated}});
  const Recording recording = of_2_15(builder, {note("allocator: noted exactly", 0)});
  CHECK(derived_of(recording).report.deferred_frees == (wanted == 50_MiB ? 1 : 0));
  CHECK(replays_whole(recording));
}

TEST_CASE("capture sessions: noted releases of pools are where they were",
          "[sim][derivation][allocator_calls]") {
  RecordingBuilder builder;
  builder.segment_alloc(kPoolAt, 20_MiB).in_pool(kHandle).alloc(kPoolAt, 20_MiB).in_pool(kHandle);
  builder.free_requested(kPoolAt, 20_MiB).in_pool(kHandle);
  builder.free_completed(kPoolAt, 20_MiB).in_pool(kHandle);
  SECTION("a graph's, whose memory stays until the next release") {
    builder.segment_alloc(kCachedAt, 30_MiB).alloc(kCachedAt, 30_MiB);
    builder.segment_free(kPoolAt, 20_MiB).in_pool(kHandle);
    builder.final_segment(kCachedAt, {{30_MiB, BlockState::active_allocated}});
    const Recording recording =
        of_2_15(builder, {note("allocator: noted exactly", 0), note("allocator: release 0,1", 4),
                          note("allocator: empty_cache", 6), note("allocator: done", 7)});
    CHECK(calls_of(derived_of(recording)) == "begin; end; release; empty_cache; ");
    CHECK(replays_whole(recording));
  }
  SECTION("a MemPool's, whose memory goes with it, while a retry follows") {
    builder.segment_free(kPoolAt, 20_MiB).in_pool(kHandle);
    builder.segment_alloc(kCachedAt, 30_MiB).alloc(kCachedAt, 30_MiB);
    builder.final_segment(kCachedAt, {{30_MiB, BlockState::active_allocated}});
    const Recording recording = of_2_15(
        builder, {note("allocator: noted exactly", 0), note("allocator: release 0,1 now", 4)});
    CHECK(calls_of(derived_of(recording)) == "begin; end; release now; ");
    CHECK(replays_whole(recording));
  }
}
