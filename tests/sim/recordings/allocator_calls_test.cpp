// What a recording notes of calls that leave no entry decides how its requests are derived; the
// options of pools that show without a note.
#include <catch2/catch.hpp>

#include "sim/recordings/derivation.hpp"
#include "sim/recordings/fidelity.hpp"
#include "tests/support/recording_builder.hpp"
#include "traces/allocator_notes.hpp"

using namespace highwater;
using namespace highwater::literals;

namespace {

constexpr std::uint64_t kGivenBack = 0x7f0000000000;
constexpr std::uint64_t kTaken = 0x7f0010000000;
constexpr std::uint64_t kWhole = 0x7f0020000000;
constexpr PoolId kNotedPool{0, 1};

Annotation noted(std::string name, std::uint64_t entry) {
  return {.name = std::move(name), .entry = entry};
}

/// 30 MiB go back to the device before 40 MiB are taken.
Recording released_and_taken(std::vector<Annotation> notes) {
  RecordingBuilder builder;
  builder.segment_alloc(kGivenBack, 30_MiB).alloc(kGivenBack, 30_MiB).free(kGivenBack, 30_MiB);
  builder.segment_free(kGivenBack, 30_MiB).segment_alloc(kTaken, 40_MiB).alloc(kTaken, 40_MiB);
  builder.final_segment(kTaken, {{40_MiB, BlockState::active_allocated}});
  Recording recording = builder.take();
  recording.annotations = std::move(notes);
  return recording;
}

DerivedTrace noted_requests(const Recording& recording) {
  return derive_requests(recording, recording.devices.front(), {});
}

std::size_t count_of(const DerivedTrace& derived, EventKind kind) {
  std::size_t found = 0;
  for (const Event& event : derived.requests.events) {
    found += event.kind == kind ? 1U : 0U;
  }
  return found;
}

/// Event::value of the first session.
std::uint64_t first_options(const DerivedTrace& derived) {
  for (const Event& event : derived.requests.events) {
    if (event.kind == EventKind::pool_begin) {
      return event.value;
    }
  }
  return ~std::uint64_t{0};
}

/// Two blocks of 3 MiB in a pool, each in a segment of 20 MiB of its own.
RecordingBuilder two_whole_blocks() {
  RecordingBuilder builder;
  builder.segment_alloc(kGivenBack, 20_MiB)
      .in_pool(kNotedPool)
      .alloc(kGivenBack, 3_MiB)
      .in_pool(kNotedPool);
  builder.segment_alloc(kTaken, 20_MiB)
      .in_pool(kNotedPool)
      .alloc(kTaken, 3_MiB)
      .in_pool(kNotedPool);
  builder.free_requested(kGivenBack, 3_MiB)
      .in_pool(kNotedPool)
      .free_completed(kGivenBack, 3_MiB)
      .in_pool(kNotedPool);
  builder.free_requested(kTaken, 3_MiB)
      .in_pool(kNotedPool)
      .free_completed(kTaken, 3_MiB)
      .in_pool(kNotedPool);
  builder.final_segment(kGivenBack, {{20_MiB, BlockState::inactive}}, kNotedPool);
  builder.final_segment(kTaken, {{20_MiB, BlockState::inactive}}, kNotedPool);
  return builder;
}

}  // namespace

TEST_CASE("allocator calls: a noted empty_cache released what was released",
          "[sim][derivation][allocator_calls]") {
  const DerivedTrace unknown = noted_requests(released_and_taken({}));
  CHECK(count_of(unknown, EventKind::empty_cache) == 0);
  CHECK(unknown.possible_empty_caches.size() == 1);
  const DerivedTrace told = noted_requests(
      released_and_taken({noted("allocator: noted", 0), noted("allocator: empty_cache", 4)}));
  CHECK(count_of(told, EventKind::empty_cache) == 1);
  CHECK(told.possible_empty_caches.empty());
}

TEST_CASE("allocator calls: the allocation released it where every empty_cache is noted",
          "[sim][derivation][allocator_calls]") {
  const std::string name = GENERATE("allocator: noted", "allocator: retry");
  const DerivedTrace derived =
      noted_requests(released_and_taken({noted(name, name == "allocator: noted" ? 0 : 4)}));
  CHECK(count_of(derived, EventKind::empty_cache) == 0);
  CHECK(derived.possible_empty_caches.empty());
}

TEST_CASE("allocator calls: settings of run time are applied where they were",
          "[sim][derivation][allocator_calls]") {
  const DerivedTrace derived =
      noted_requests(released_and_taken({noted("allocator: settings max_split_size_mb:32", 4)}));
  REQUIRE(count_of(derived, EventKind::set_settings) == 1);
  const Event& event = derived.requests.events[2];
  CHECK(event.kind == EventKind::set_settings);
  CHECK(derived.requests.tables.strings[event.text()] == "max_split_size_mb:32");
  CHECK(count_of(derived, EventKind::phase) == 0);
}

TEST_CASE("allocator calls: a block that would have served what took new memory was waited for",
          "[sim][derivation][allocator_calls]") {
  const Bytes asked = GENERATE(3_MiB, 6_MiB);
  RecordingBuilder builder;
  builder.segment_alloc(kGivenBack, 30_MiB).alloc(kGivenBack, 30_MiB).free(kGivenBack, 30_MiB);
  builder.segment_alloc(kWhole, 20_MiB).alloc(kWhole, 5_MiB).alloc(kWhole + 0x500000, 4_MiB);
  builder.free(kWhole, 5_MiB).segment_free(kGivenBack, 30_MiB);
  builder.segment_alloc(kTaken, 20_MiB).alloc(kTaken, asked);
  Recording recording = builder.take();
  recording.annotations = {noted("allocator: noted exactly", 0)};
  const bool would_have_served = asked == 3_MiB;
  CHECK(count_of(noted_requests(recording), EventKind::record_stream) ==
        (would_have_served ? 1 : 0));
}

TEST_CASE("allocator calls: a block of another pool was none that the search looked at",
          "[sim][derivation][allocator_calls]") {
  const bool is_in_pool = GENERATE(true, false);
  const PoolId pool = is_in_pool ? kNotedPool : PoolId{};
  RecordingBuilder builder;
  builder.segment_alloc(kGivenBack, 30_MiB).alloc(kGivenBack, 30_MiB);
  builder.free_requested(kGivenBack, 30_MiB).segment_alloc(kWhole, 2_MiB).alloc(kWhole, 512_B);
  builder.free_completed(kGivenBack, 30_MiB).segment_free(kGivenBack, 30_MiB);  // as garbage
  builder.segment_alloc(kTaken, 40_MiB).in_pool(pool).alloc(kTaken, 25_MiB).in_pool(pool);
  Recording recording = builder.take();
  recording.annotations = {noted("allocator: noted exactly", 0)};
  Settings settings;
  settings.garbage_collection_threshold = 0.5;
  const DerivedTrace derived = derive_requests(recording, recording.devices.front(), settings);
  std::string order;
  for (const Event& event : derived.requests.events) {
    order += event.kind == EventKind::stream_done ? "done " : "";
    order += event.kind == EventKind::alloc && event.bytes() == 25_MiB ? "alloc " : "";
  }
  CHECK(order == (is_in_pool ? "done alloc " : "alloc done "));
}

TEST_CASE("allocator calls: a snapshot before an empty_cache does not hide what that released",
          "[sim][derivation][allocator_calls]") {
  RecordingBuilder builder;
  builder.segment_alloc(kGivenBack, 30_MiB).alloc(kGivenBack, 30_MiB).free(kGivenBack, 30_MiB);
  builder.entry(RecordedAction::snapshot, 0, 0_B).segment_free(kGivenBack, 30_MiB);
  builder.segment_alloc(kTaken, 40_MiB).alloc(kTaken, 40_MiB);
  builder.final_segment(kTaken, {{40_MiB, BlockState::active_allocated}});
  Recording recording = builder.take();
  recording.annotations = {noted("allocator: noted exactly", 0), noted("allocator: empty_cache", 4),
                           noted("allocator: done", 6)};
  const DerivedTrace derived = noted_requests(recording);
  CHECK(count_of(derived, EventKind::empty_cache) == 1);
  const FidelityReplay replayed = replay_as_recorded(recording.devices.front(), derived, {},
                                                     version_preset("2.15"), DecisionDetail::none);
  CHECK(replayed.fidelity.is_perfect());
}

TEST_CASE("allocator calls: a pool whose MemPool goes serves no other requests",
          "[sim][derivation][allocator_calls]") {
  RecordingBuilder builder = two_whole_blocks();
  Recording recording = builder.take();
  recording.annotations = {noted("allocator: pool 0,1 use_on_oom", 0),
                           noted("allocator: retire 0,1", 4), noted("allocator: retire 0,9", 4),
                           noted("allocator: retire 1", 4)};
  const DerivedTrace derived = noted_requests(recording);
  REQUIRE(count_of(derived, EventKind::pool_retire) == 1);
  CHECK(derived.requests.events[3].kind == EventKind::pool_retire);
}

TEST_CASE("allocator calls: garbage that a capture collects under a threshold of run time",
          "[sim][derivation][allocator_calls]") {
  RecordingBuilder builder;
  builder.segment_alloc(kGivenBack, 30_MiB).alloc(kGivenBack, 30_MiB).free(kGivenBack, 30_MiB);
  builder.segment_free(kGivenBack, 30_MiB);
  builder.segment_alloc(kTaken, 40_MiB)
      .in_pool(kNotedPool)
      .alloc(kTaken, 40_MiB)
      .in_pool(kNotedPool);
  Recording recording = builder.take();
  recording.writer = {.oldest = "2.12", .newest = "2.12"};  // any session holds cached memory back
  recording.annotations = {noted("allocator: noted exactly", 0)};
  CHECK(count_of(noted_requests(recording), EventKind::empty_cache) == 1);
  recording.annotations.push_back(noted("allocator: settings garbage_collection_threshold:0.5", 1));
  CHECK(count_of(noted_requests(recording), EventKind::empty_cache) == 0);
}

TEST_CASE("allocator calls: a memory limit holds from where it was set",
          "[sim][derivation][allocator_calls]") {
  const DerivedTrace derived = noted_requests(
      released_and_taken({noted("allocator: device 1000", 0), noted("allocator: limit 35000000", 4),
                          noted("allocator: limit none", 5), noted("allocator: limit soon", 5)}));
  CHECK(derived.requests.header.capacity == 1000_B);
  REQUIRE(count_of(derived, EventKind::memory_limit) == 2);
  CHECK(derived.requests.events[2].bytes() == 35000000_B);
  CHECK(derived.requests.events[3].value == kNoLimit);
}

TEST_CASE("allocator calls: the options of a pool are those that are noted",
          "[sim][derivation][allocator_calls]") {
  RecordingBuilder builder;
  builder.segment_alloc(kGivenBack, 20_MiB)
      .in_pool(kNotedPool)
      .alloc(kGivenBack, 3_MiB)
      .in_pool(kNotedPool);
  Recording recording = builder.take();
  CHECK(pool_options_of(first_options(noted_requests(recording))) == PoolOptions{});
  recording.annotations = {noted("allocator: pool 0,1 no_split use_on_oom", 0)};
  CHECK(pool_options_of(first_options(noted_requests(recording))) ==
        PoolOptions{.use_on_oom = true, .no_split = true});
}

TEST_CASE("allocator calls: a pool that leaves room unused has no_split",
          "[sim][derivation][allocator_calls]") {
  RecordingBuilder builder = two_whole_blocks();
  CHECK(pool_options_of(first_options(noted_requests(builder.get()))).no_split);
  CHECK(replay_as_recorded(builder.get().devices.front(), noted_requests(builder.get()), {},
                           version_preset("2.15"))
            .fidelity.is_perfect());
  builder.alloc(kGivenBack, 3_MiB)
      .in_pool(kNotedPool)
      .alloc(kGivenBack + (3U << 20U), 3_MiB)
      .in_pool(kNotedPool);
  CHECK_FALSE(pool_options_of(first_options(noted_requests(builder.get()))).no_split);
}

TEST_CASE("allocator calls: a pool that maps new pages beside room in the last ones has no_split",
          "[sim][derivation][allocator_calls]") {
  constexpr std::uint64_t kPages = kTaken + (40U << 20U);
  Settings expandable;
  expandable.expandable_segments = true;
  RecordingBuilder builder;
  builder.entry(RecordedAction::segment_map, kTaken, 40_MiB).in_pool(kNotedPool);
  builder.alloc(kTaken, 37_MiB).in_pool(kNotedPool);
  builder.entry(RecordedAction::segment_map, kPages, 20_MiB).in_pool(kNotedPool);
  const auto options = [&] {
    return pool_options_of(
        first_options(derive_requests(builder.get(), builder.get().devices.front(), expandable)));
  };
  SECTION("from their begin on") {
    builder.alloc(kPages, 5_MiB).in_pool(kNotedPool);
    CHECK(options().no_split);
    builder.alloc(kPages + (5U << 20U), 5_MiB).in_pool(kNotedPool);  // but split that one
    CHECK_FALSE(options().no_split);
  }
  SECTION("but not if the block begins in the room that was left") {
    builder.alloc(kTaken + (37U << 20U), 5_MiB).in_pool(kNotedPool);
    CHECK_FALSE(options().no_split);
  }
}

TEST_CASE("allocator calls: a pool whose block is larger than its request has no_split",
          "[sim][derivation][allocator_calls]") {
  RecordingBuilder builder;
  builder.segment_alloc(kWhole, 20_MiB)
      .in_pool(kNotedPool)
      .alloc(kWhole, 3_MiB)
      .in_pool(kNotedPool);
  builder.final_segment(kWhole, {{20_MiB, BlockState::active_allocated}}, kNotedPool);
  Recording recording = builder.take();
  recording.devices[0].segments[0].blocks[0].requested = 3_MiB;
  CHECK(pool_options_of(first_options(noted_requests(recording))).no_split);
}

TEST_CASE("allocator notes: names are read as they are written", "[traces][allocator_calls]") {
  const AllocatorNote settings{AllocatorNote::Kind::settings, "a:1,b:2"};
  CHECK(name_of(settings) == "allocator: settings a:1,b:2");
  REQUIRE(allocator_note(name_of(settings)).has_value());
  CHECK(allocator_note(name_of(settings))->rest == "a:1,b:2");
  CHECK_FALSE(allocator_note("forward").has_value());
  CHECK_FALSE(allocator_note("allocator: something").has_value());
  CHECK(noted_pool("0,7")->first == PoolId{0, 7});
  CHECK_FALSE(noted_pool("0,7 no_spit").has_value());
  CHECK_FALSE(noted_pool("7").has_value());
}
