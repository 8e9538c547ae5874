// Rules: which requests are derived from recorded entries, and which initial state.
#include "sim/derivation.hpp"

#include <catch2/catch.hpp>

#include "sim/fidelity.hpp"
#include "tests/support/recording_builder.hpp"

using namespace highwater;
using namespace highwater::literals;

namespace {

constexpr std::uint64_t kBase = 0x7f0000000000;
constexpr std::uint64_t kOther = 0x7f0010000000;
constexpr BlockState kUsed = BlockState::active_allocated;
constexpr BlockState kFree = BlockState::inactive;

DerivedTrace derive(const RecordingBuilder& builder, const Settings& settings = {}) {
  return derive_requests(builder.get(), builder.get().devices.front(), settings);
}

FidelityReplay follow(const RecordingBuilder& builder, const Settings& settings = {}) {
  const DerivedTrace derived = derive(builder, settings);
  return replay_as_recorded(builder.get().devices.front(), derived, settings,
                            version_preset("2.6"));
}

std::vector<EventKind> kinds(const DerivedTrace& derived) {
  std::vector<EventKind> result;
  for (const Event& event : derived.requests.events) {
    result.push_back(event.kind);
  }
  return result;
}

}  // namespace

TEST_CASE("derivation: an alloc and its free are two requests", "[sim][derivation]") {
  RecordingBuilder builder;
  builder.segment_alloc(kBase, 20_MiB).alloc(kBase, 3_MiB).free(kBase, 3_MiB);
  builder.final_segment(kBase, {{20_MiB, kFree}});
  const DerivedTrace derived = derive(builder);
  CHECK(kinds(derived) == std::vector{EventKind::alloc, EventKind::free});
  CHECK(derived.entries_of(0).begin == 0);
  CHECK(derived.entries_of(0).end == 2);
  CHECK(derived.entries_of(1).end == 4);
  CHECK(derived.initial.segments.empty());
  CHECK_FALSE(derived.report.truncated);
  CHECK(follow(builder).fidelity.is_perfect());
}

TEST_CASE("derivation: a free that completes later waited for another stream",
          "[sim][derivation]") {
  RecordingBuilder builder;
  builder.segment_alloc(kBase, 20_MiB).alloc(kBase, 20_MiB).free_requested(kBase, 20_MiB);
  builder.segment_alloc(kOther, 20_MiB).alloc(kOther, 20_MiB);
  builder.free_completed(kBase, 20_MiB).alloc(kBase, 20_MiB);
  builder.final_segment(kBase, {{20_MiB, kUsed}}).final_segment(kOther, {{20_MiB, kUsed}});
  const DerivedTrace derived = derive(builder);
  CHECK(kinds(derived) == std::vector{EventKind::alloc, EventKind::record_stream, EventKind::free,
                                      EventKind::alloc, EventKind::stream_done, EventKind::alloc});
  CHECK(derived.report.deferred_frees == 1);
  CHECK(derived.requests.stream_handles.size() == 3);  // two recorded, one synthetic
  CHECK(follow(builder).fidelity.is_perfect());
}

TEST_CASE("derivation: a block that still waits at the end is pending in the final segments",
          "[sim][derivation]") {
  RecordingBuilder builder;
  builder.segment_alloc(kBase, 20_MiB).alloc(kBase, 20_MiB).free_requested(kBase, 20_MiB);
  builder.final_segment(kBase, {{20_MiB, BlockState::active_pending_free}});
  CHECK(follow(builder).fidelity.is_perfect());
}

TEST_CASE("derivation: segments released without an allocation are an empty_cache",
          "[sim][derivation]") {
  RecordingBuilder builder;
  builder.segment_alloc(kBase, 20_MiB).alloc(kBase, 20_MiB).free(kBase, 20_MiB);
  builder.segment_free(kBase, 20_MiB);
  CHECK(kinds(derive(builder)).back() == EventKind::empty_cache);
  CHECK(follow(builder).fidelity.is_perfect());
}

TEST_CASE(
    "derivation: a release before an allocation that the cache could have served was the "
    "program's",
    "[sim][derivation]") {
  RecordingBuilder builder;
  builder.segment_alloc(kBase, 20_MiB).alloc(kBase, 20_MiB).free(kBase, 20_MiB);
  builder.segment_free(kBase, 20_MiB).segment_alloc(kOther, 20_MiB).alloc(kOther, 20_MiB);
  builder.final_segment(kOther, {{20_MiB, kUsed}});
  const FidelityReplay replay = follow(builder);
  CHECK(replay.fidelity.is_perfect());
  CHECK(replay.empty_caches.size() == 1);
  CHECK(replay.result.counts.alloc_retries == 0);
  const RequestTrace requests = with_baseline(derive(builder), replay.empty_caches);
  CHECK(requests.events[2].kind == EventKind::empty_cache);
}

TEST_CASE("derivation: a release before an allocation that needed the room was its retry",
          "[sim][derivation]") {
  RecordingBuilder builder;
  builder.segment_alloc(kBase, 20_MiB).alloc(kBase, 20_MiB).free(kBase, 20_MiB);
  builder.segment_free(kBase, 20_MiB).segment_alloc(kOther, 24_MiB).alloc(kOther, 24_MiB);
  builder.final_segment(kOther, {{24_MiB, kUsed}});
  const FidelityReplay replay = follow(builder);
  CHECK(replay.fidelity.is_perfect());
  CHECK(replay.empty_caches.empty());
  CHECK(replay.result.counts.alloc_retries == 1);
}

TEST_CASE("derivation: an oom is an allocation that fails where it was recorded to",
          "[sim][derivation]") {
  RecordingBuilder builder;
  builder.segment_alloc(kBase, 20_MiB).alloc(kBase, 20_MiB);
  builder.entry(RecordedAction::oom, (5_MiB).count(), 40_MiB);
  builder.final_segment(kBase, {{20_MiB, kUsed}});
  const FidelityReplay replay = follow(builder);
  CHECK(replay.fidelity.is_perfect());
  REQUIRE(replay.result.ooms.size() == 1);
  CHECK(replay.result.ooms[0].account.device_free == 5_MiB);
  CHECK(replay.result.ooms[0].account.rounded == 40_MiB);
}

TEST_CASE("derivation: blocks older than the recording are rebuilt from frees and final segments",
          "[sim][derivation]") {
  RecordingBuilder builder;  // x lives throughout, y is freed by the recording
  builder.free(kBase + (4_MiB).count(), 4_MiB);
  builder.final_segment(kBase, {{4_MiB, kUsed}, {16_MiB, kFree}});
  const DerivedTrace derived = derive(builder);
  REQUIRE(derived.initial.segments.size() == 1);
  const auto& blocks = derived.initial.segments[0].blocks;
  REQUIRE(blocks.size() == 3);
  CHECK(blocks[0].size == 4_MiB);
  CHECK(blocks[1].size == 4_MiB);
  CHECK(blocks[1].state == kUsed);
  CHECK(blocks[2].size == 12_MiB);
  CHECK(derived.report.initial_blocks == 2);
  CHECK(derived.report.initial_blocks_doubtful == 1);
  CHECK(derived.report.truncated);
  CHECK(follow(builder).fidelity.is_perfect());
}

TEST_CASE("derivation: a gap of at most 1 MiB belongs to the older block before it",
          "[sim][derivation]") {
  RecordingBuilder builder;
  builder.free(kBase, 19_MiB);
  builder.final_segment(kBase, {{20_MiB, kFree}});
  const DerivedTrace derived = derive(builder);
  CHECK(derived.initial.segments[0].blocks.size() == 1);
  CHECK(derived.initial.segments[0].blocks[0].size == 20_MiB);
  CHECK(derived.report.initial_blocks_doubtful == 0);
}

TEST_CASE("derivation: segments of before are the final ones with the entries undone",
          "[sim][derivation]") {
  RecordingBuilder builder;
  builder.segment_free(kOther, 20_MiB);
  builder.segment_alloc(kBase, 20_MiB).alloc(kBase, 20_MiB);
  builder.final_segment(kBase, {{20_MiB, kUsed}});
  const DerivedTrace derived = derive(builder);
  REQUIRE(derived.initial.segments.size() == 1);
  CHECK(derived.initial.segments[0].address == Address{kOther});
  CHECK(recorded_peak_reserved(builder.get().devices.front()) == 20_MiB);
}

TEST_CASE("derivation: an alloc over a live block frees it, and says so", "[sim][derivation]") {
  RecordingBuilder builder;
  builder.segment_alloc(kBase, 20_MiB).alloc(kBase, 20_MiB).alloc(kBase, 20_MiB);
  builder.final_segment(kBase, {{20_MiB, kUsed}});
  const DerivedTrace derived = derive(builder);
  CHECK(kinds(derived) == std::vector{EventKind::alloc, EventKind::free, EventKind::alloc});
  CHECK(derived.report.implicit_frees == 1);
  REQUIRE(derived.report.problems.size() == 1);
  CHECK(derived.report.problems[0].find("still live") != std::string::npos);
}

TEST_CASE("derivation: allocations in a private pool's segments are made in a session on it",
          "[sim][derivation]") {
  RecordingBuilder builder;
  builder.segment_alloc(kBase, 20_MiB).alloc(kBase, 20_MiB);
  builder.segment_alloc(kOther, 20_MiB).alloc(kOther, 20_MiB);
  builder.final_segment(kBase, {{20_MiB, kUsed}});
  builder.final_segment(kOther, {{20_MiB, kUsed}}, {0, 3});
  const DerivedTrace derived = derive(builder);
  CHECK(kinds(derived) == std::vector{EventKind::alloc, EventKind::pool_begin, EventKind::alloc,
                                      EventKind::pool_end});
  CHECK(derived.requests.pools == std::vector{PoolId{0, 3}});
  CHECK(follow(builder).fidelity.is_perfect());
}

TEST_CASE("derivation: contradictions between entries and segments are reported",
          "[sim][derivation]") {
  RecordingBuilder builder;
  builder.segment_alloc(kBase, 20_MiB).alloc(kBase, 20_MiB);
  builder.final_segment(kBase, {{20_MiB, kFree}});
  const DerivedTrace derived = derive(builder);
  REQUIRE(derived.report.problems.size() == 1);
  CHECK(derived.report.problems[0].find("not of the same moment") != std::string::npos);
  const FidelityReplay replay = follow(builder);
  CHECK(replay.fidelity.final_segments_matched == 0);
  CHECK(replay.fidelity.alloc_addresses_matched == 1);
}

TEST_CASE("derivation: the baseline comes first, in address order", "[sim][derivation]") {
  RecordingBuilder builder;
  builder.segment_alloc(kOther, 20_MiB).alloc(kOther, 20_MiB);
  builder.final_segment(kBase, {{4_MiB, kUsed}, {16_MiB, kFree}});
  builder.final_segment(kOther, {{20_MiB, kUsed}});
  const RequestTrace requests = with_baseline(derive(builder), {});
  REQUIRE(requests.events.size() == 2);
  CHECK(requests.events[0].bytes() == 4_MiB);
  CHECK(requests.events[1].bytes() == 20_MiB);
}
