// Rules: which requests are derived from recorded entries, and which initial state.
#include "sim/recordings/derivation.hpp"

#include <catch2/catch.hpp>

#include "sim/recordings/fidelity.hpp"
#include "sim/recordings/recorded_requests.hpp"
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
  const RequestTrace requests = recorded_requests(derive(builder), replay.empty_caches);
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
  CHECK(derived.report.problems[0].find("taken at different moments") != std::string::npos);
  const FidelityReplay replay = follow(builder);
  CHECK(replay.fidelity.final_segments_matched == 0);
  CHECK(replay.fidelity.alloc_addresses_matched == 1);
}

TEST_CASE("derivation: older blocks come first, in address order", "[sim][derivation]") {
  RecordingBuilder builder;
  builder.segment_alloc(kOther, 20_MiB).alloc(kOther, 20_MiB);
  builder.final_segment(kBase, {{4_MiB, kUsed}, {16_MiB, kFree}});
  builder.final_segment(kOther, {{20_MiB, kUsed}});
  const RequestTrace requests = recorded_requests(derive(builder), {});
  REQUIRE(requests.events.size() == 2);
  CHECK(requests.events[0].bytes() == 4_MiB);
  CHECK(requests.events[1].bytes() == 20_MiB);
}

TEST_CASE("derivation: a block that waited when the recording began is freed before it",
          "[sim][derivation]") {
  RecordingBuilder builder;  // its free_completed comes with the allocation that noticed it
  builder.free(kBase + (4_MiB).count(), 4_MiB);
  builder.segment_alloc(kOther, 24_MiB).alloc(kOther, 24_MiB);
  builder.free_completed(kBase, 4_MiB).alloc(kBase, 20_MiB);
  builder.final_segment(kBase, {{20_MiB, kUsed}}).final_segment(kOther, {{24_MiB, kUsed}});
  const DerivedTrace derived = derive(builder);
  CHECK(derived.report.deferred_frees == 1);
  CHECK(kinds(derived) == std::vector{EventKind::record_stream, EventKind::free, EventKind::free,
                                      EventKind::alloc, EventKind::stream_done, EventKind::alloc});
  CHECK(follow(builder).fidelity.is_perfect());
}

TEST_CASE("derivation: completions between a release and an allocation were waited for",
          "[sim][derivation]") {
  Settings settings;
  settings.max_split_size = 32_MiB;
  RecordingBuilder builder;  // too little oversize memory goes first, then all cached memory
  const std::uint64_t third = kOther + (64_MiB).count();
  builder.segment_alloc(kBase, 36_MiB).alloc(kBase, 36_MiB).free(kBase, 36_MiB);
  builder.segment_alloc(kOther, 60_MiB).alloc(kOther, 60_MiB).free_requested(kOther, 60_MiB);
  builder.segment_free(kBase, 36_MiB).free_completed(kOther, 60_MiB).segment_free(kOther, 60_MiB);
  builder.segment_alloc(third, 58_MiB).alloc(third, 58_MiB);
  builder.final_segment(third, {{58_MiB, kUsed}});
  const FidelityReplay replay = follow(builder, settings);
  CHECK(replay.fidelity.is_perfect());
  CHECK(replay.result.counts.alloc_retries == 1);
}

TEST_CASE("derivation: what a search would have found cannot have been free by then",
          "[sim][derivation]") {
  Settings settings;
  settings.garbage_collection_threshold = 0.5;
  RecordingBuilder apart;  // the free waits, so its two entries are not neighbours
  apart.segment_alloc(kBase, 40_MiB).alloc(kBase, 40_MiB).free_requested(kBase, 40_MiB);
  apart.entry(RecordedAction::snapshot, 0, 40_MiB);
  apart.free_completed(kBase, 40_MiB).segment_free(kBase, 40_MiB);
  apart.segment_alloc(kOther, 40_MiB).alloc(kOther, 40_MiB);
  apart.final_segment(kOther, {{40_MiB, kUsed}});
  CHECK(follow(apart, settings).fidelity.is_perfect());
  CHECK(follow(apart, settings).result.counts.alloc_retries == 1);
}

TEST_CASE("derivation: a failed allocation waited for what completed before it",
          "[sim][derivation]") {
  RecordingBuilder builder;  // free only after the search, beside a block that keeps the segment
  builder.segment_alloc(kBase, 20_MiB).alloc(kBase, 9_MiB);
  builder.alloc(kBase + (9_MiB).count(), 9_MiB).free_requested(kBase, 9_MiB);
  builder.entry(RecordedAction::snapshot, 0, 18_MiB);
  builder.free_completed(kBase, 9_MiB);
  builder.entry(RecordedAction::oom, 0, 8_MiB);
  builder.final_segment(kBase, {{9_MiB, kFree}, {9_MiB, kUsed}, {2_MiB, kFree}});
  const FidelityReplay replay = follow(builder);
  CHECK(replay.fidelity.is_perfect());
  CHECK(replay.result.counts.ooms == 1);
}

TEST_CASE("derivation: pages mapped before the device had no more belong to one allocation",
          "[sim][derivation]") {
  Settings settings;
  settings.expandable_segments = true;
  RecordingBuilder builder;
  const auto at = [](Bytes offset) { return kBase + offset.count(); };
  const auto map = RecordedAction::segment_map;
  const auto unmap = RecordedAction::segment_unmap;
  const std::uint64_t other = kOther + (std::uint64_t{1} << 40);
  // Three stretches; the middle one is unmapped by an empty_cache, another stream caches 20 MiB.
  builder.entry(map, at(0_MiB), 20_MiB).alloc(at(0_MiB), 20_MiB);
  builder.entry(map, at(20_MiB), 20_MiB).alloc(at(20_MiB), 20_MiB);
  builder.entry(map, at(40_MiB), 20_MiB).alloc(at(40_MiB), 20_MiB);
  builder.free(at(20_MiB), 20_MiB).entry(unmap, at(20_MiB), 20_MiB);
  builder.free(at(40_MiB), 20_MiB);
  builder.entry(map, other, 20_MiB, 1).entry(RecordedAction::alloc, other, 20_MiB, 1);
  builder.entry(RecordedAction::free_requested, other, 20_MiB, 1);
  builder.entry(RecordedAction::free_completed, other, 20_MiB, 1);
  // 60 MiB: the hole is mapped, then the device has no more until all is released.
  builder.entry(map, at(20_MiB), 20_MiB);
  builder.entry(unmap, at(20_MiB), 40_MiB).entry(unmap, other, 20_MiB, 1);
  builder.entry(map, at(20_MiB), 60_MiB).alloc(at(20_MiB), 60_MiB);
  builder.free(at(0_MiB), 20_MiB).free(at(20_MiB), 60_MiB).entry(unmap, at(0_MiB), 80_MiB);
  const FidelityReplay replay = follow(builder, settings);
  CHECK(replay.fidelity.is_perfect());
  CHECK_FALSE(replay.fidelity.first_divergence.has_value());
  CHECK(replay.result.counts.alloc_retries == 1);
}

TEST_CASE("derivation: the first allocation behind an older block tells where that one ends",
          "[sim][derivation]") {
  RecordingBuilder builder;  // 4 MiB were asked for, and 4.5 MiB handed out
  const std::uint64_t behind = kBase + (4_MiB).count() + (512_KiB).count();
  builder.alloc(behind, 3_MiB).free(kBase, 4_MiB);
  builder.final_segment(kBase,
                        {{4_MiB + 512_KiB, kFree}, {3_MiB, kUsed}, {12_MiB + 512_KiB, kFree}});
  const DerivedTrace derived = derive(builder);
  CHECK(derived.initial.segments[0].blocks[0].size == 4_MiB + 512_KiB);
  CHECK(derived.report.initial_blocks_doubtful == 0);
  CHECK(follow(builder).fidelity.is_perfect());
}

TEST_CASE("derivation: several small pages released at once are of the small pool",
          "[sim][derivation]") {
  Settings settings;
  settings.expandable_segments = true;
  RecordingBuilder builder;
  builder.free(kBase, 1_MiB).entry(RecordedAction::segment_unmap, kBase, 4_MiB);
  CHECK(derive(builder, settings).initial.segments[0].kind == PoolKind::small);
  RecordingBuilder ten;  // the size of a large page: the blocks tell
  ten.free(kBase, 1_MiB).entry(RecordedAction::segment_unmap, kBase, 20_MiB);
  CHECK(derive(ten, settings).initial.segments[0].kind == PoolKind::small);
  CHECK(follow(ten, settings).fidelity.is_perfect());
}

TEST_CASE("derivation: without a memory fraction no garbage is collected, whatever its threshold",
          "[sim][derivation]") {
  Settings settings;
  settings.garbage_collection_threshold = 0.5;
  RecordingBuilder builder;
  builder.segment_alloc(kBase, 20_MiB).alloc(kBase, 20_MiB).free(kBase, 20_MiB);
  builder.segment_free(kBase, 20_MiB).segment_alloc(kOther, 24_MiB).alloc(kOther, 24_MiB);
  builder.final_segment(kOther, {{24_MiB, kUsed}});
  const FidelityReplay replay = follow(builder, settings);
  CHECK(replay.fidelity.is_perfect());
  CHECK(replay.result.counts.alloc_retries == 1);
}

TEST_CASE("derivation: an impossible size runs out of memory and does no harm",
          "[sim][derivation]") {
  Settings settings;
  settings.expandable_segments = true;
  RecordingBuilder builder;
  builder.alloc(kBase, Bytes{std::uint64_t{1} << 62});
  const FidelityReplay replay = follow(builder, settings);
  CHECK_FALSE(replay.fidelity.is_perfect());
  CHECK(replay.result.counts.ooms == 1);
}

TEST_CASE("derivation: older blocks that overlap or lie askew are left out, and said to be",
          "[sim][derivation]") {
  RecordingBuilder builder;  // freed twice without an allocation between, and at an odd address
  builder.free(kBase, 4_MiB).free(kBase, 4_MiB).free(kBase + (8_MiB).count() + 3, 4_MiB);
  builder.final_segment(kBase, {{20_MiB, kFree}});
  const DerivedTrace derived = derive(builder);
  CHECK(derived.initial.segments[0].blocks.size() == 2);
  REQUIRE(derived.report.problems.size() == 1);
  CHECK(derived.report.problems[0].find("were ignored") != std::string::npos);
  CHECK(follow(builder).result.final.reserved == 20_MiB);
}

TEST_CASE("derivation: of overlapping segments only the lower one is there before",
          "[sim][derivation]") {
  RecordingBuilder builder;
  builder.segment_free(kBase, 20_MiB).segment_free(kBase + (10_MiB).count(), 20_MiB);
  CHECK(derive(builder).initial.segments.size() == 1);
}

TEST_CASE("derivation: a failed request is asked again and freed at once, or left out",
          "[sim][derivation]") {
  RecordingBuilder builder;
  builder.segment_alloc(kBase, 20_MiB).alloc(kBase, 20_MiB);
  builder.entry(RecordedAction::oom, (5_MiB).count(), 40_MiB);
  builder.final_segment(kBase, {{20_MiB, kUsed}});
  const DerivedTrace derived = derive(builder);
  CHECK(derived.report.failed_requests == 1);
  const RequestTrace kept = recorded_requests(derived, {});
  REQUIRE(kept.events.size() == 3);
  CHECK(kept.events[1].bytes() == 40_MiB);
  CHECK(kept.events[2].kind == EventKind::free);
  CHECK(kept.events[2].allocation == kept.events[1].allocation);
  CHECK(recorded_requests(derived, {}, FailedRequests::left_out).events.size() == 1);
}

TEST_CASE("derivation: older blocks of a private pool are allocated in it", "[sim][derivation]") {
  RecordingBuilder builder;
  builder.final_segment(kBase, {{20_MiB, kUsed}}, {0, 3});
  const RequestTrace requests = recorded_requests(derive(builder), {});
  REQUIRE(requests.events.size() == 3);
  CHECK(requests.events[0].kind == EventKind::pool_begin);
  CHECK(requests.events[1].kind == EventKind::alloc);
  CHECK(requests.events[2].kind == EventKind::pool_end);
  CHECK(requests.pools == std::vector{PoolId{0, 3}});
}

TEST_CASE("derivation: a failure in an open session belongs to its pool", "[sim][derivation]") {
  RecordingBuilder builder;
  builder.segment_alloc(kOther, 20_MiB).alloc(kOther, 20_MiB).free(kOther, 20_MiB);
  builder.segment_alloc(kBase, 20_MiB).alloc(kBase, 20_MiB);
  builder.entry(RecordedAction::oom, (5_MiB).count(), 40_MiB);
  builder.final_segment(kOther, {{20_MiB, kFree}});
  builder.final_segment(kBase, {{20_MiB, kUsed}}, {0, 3});
  CHECK(follow(builder).fidelity.is_perfect());
}
