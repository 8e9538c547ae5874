// What a release before an allocation says of the search for room, size by size and stream by
// stream.
#include "sim/recordings/release_cause.hpp"

#include <catch2/catch.hpp>

#include "tests/support/recording_builder.hpp"

using namespace highwater;
using namespace highwater::literals;

namespace {

constexpr std::uint64_t kReleased = 0x7f0000000000;
constexpr std::uint16_t kSame = 0;
constexpr std::uint16_t kAnother = 1;

RecordedEntry allocation_of(Bytes size) {
  return {.address = Address{kReleased}, .size = size, .action = RecordedAction::alloc};
}

/// Splits up to 64 MiB; max_non_split_rounding_size is 20 MiB, the default.
Settings limited(double garbage_collection_threshold) {
  Settings settings;
  settings.max_split_size = 64_MiB;
  settings.garbage_collection_threshold = garbage_collection_threshold;
  return settings;
}

bool waited(RecordedAction action, Bytes released, std::uint16_t stream, Bytes request,
            const Settings& settings) {
  RecordingBuilder builder;
  builder.entry(action, kReleased, released, stream);
  const EntriesBefore all{builder.get().devices.front(), 0, 1};
  return released_only_by_waiting(all, allocation_of(request), settings);
}

/// A segment was released before a request on stream 0, without garbage collection.
bool waited_without_collection(Bytes released, std::uint16_t stream, Bytes request) {
  return waited(RecordedAction::segment_free, released, stream, request, limited(0));
}

/// The same with garbage collection, which may have released any large segment.
bool waited_with_collection(Bytes released, std::uint16_t stream, Bytes request) {
  return waited(RecordedAction::segment_free, released, stream, request, limited(0.5));
}

bool rim(RecordedAction action, std::uint64_t distance, std::uint16_t stream) {
  RecordingBuilder builder;
  builder.entry(action, kReleased + distance, 20_MiB, stream);
  const EntriesBefore all{builder.get().devices.front(), 0, 1};
  return leaves_rim(all, allocation_of(30_MiB), {});
}

}  // namespace

TEST_CASE("release cause: the release of oversize blocks takes those of the request's stream",
          "[sim][derivation]") {
  CHECK_FALSE(waited_without_collection(80_MiB, kSame, 40_MiB));
  CHECK(waited_without_collection(80_MiB, kAnother, 40_MiB));
  CHECK_FALSE(waited_without_collection(64_MiB, kSame, 40_MiB));  // of max_split_size: oversize
  CHECK(waited_without_collection(62_MiB, kSame, 40_MiB));
}

TEST_CASE("release cause: garbage collection takes any large segment but those that would serve",
          "[sim][derivation]") {
  CHECK_FALSE(waited_with_collection(38_MiB, kSame, 40_MiB));  // too small
  CHECK(waited_with_collection(40_MiB, kSame, 40_MiB));
  CHECK(waited_with_collection(62_MiB, kSame, 40_MiB));
  CHECK_FALSE(waited_with_collection(64_MiB, kSame, 40_MiB));  // is not split for 40
  CHECK_FALSE(waited_with_collection(40_MiB, kAnother, 40_MiB));
}

TEST_CASE("release cause: an oversize request takes a block that is less than 20 MiB larger",
          "[sim][derivation]") {
  CHECK(waited_with_collection(64_MiB, kSame, 64_MiB));  // of max_split_size: oversize
  CHECK(waited_with_collection(82_MiB, kSame, 64_MiB));
  CHECK_FALSE(waited_with_collection(84_MiB, kSame, 64_MiB));
}

TEST_CASE("release cause: small segments are released by the last resort alone",
          "[sim][derivation]") {
  CHECK(waited_with_collection(2_MiB, kSame, 40_MiB));
  CHECK(waited_with_collection(2_MiB, kAnother, 40_MiB));
  CHECK_FALSE(waited_with_collection(20_MiB, kSame, 1_MiB));  // a small request takes no large one
  CHECK(waited_with_collection(20_MiB, kSame, 1_MiB + 512_B));
}

TEST_CASE("release cause: only segments that are freed, in the range asked about",
          "[sim][derivation]") {
  CHECK_FALSE(waited(RecordedAction::segment_unmap, 2_MiB, kSame, 40_MiB, limited(0)));
  RecordingBuilder builder;
  builder.segment_free(kReleased, 2_MiB)
      .segment_alloc(kReleased, 2_MiB)
      .segment_free(kReleased, 2_MiB);
  const RecordedDevice& device = builder.get().devices.front();
  CHECK_FALSE(released_only_by_waiting({device, 1, 2}, allocation_of(40_MiB), limited(0)));
  CHECK(released_only_by_waiting({device, 1, 3}, allocation_of(40_MiB), limited(0)));
  CHECK(released_only_by_waiting({device, 0, 2}, allocation_of(40_MiB), limited(0)));
}

TEST_CASE("release cause: a rim is unmapped within one page behind the start of the allocation",
          "[sim][derivation]") {
  const auto unmap = RecordedAction::segment_unmap;
  CHECK_FALSE(rim(unmap, 0, kSame));
  CHECK(rim(unmap, 512, kSame));
  CHECK(rim(unmap, (20_MiB).count() - 512, kSame));
  CHECK_FALSE(rim(unmap, (20_MiB).count(), kSame));
  CHECK_FALSE(rim(unmap, 512, kAnother));
  CHECK_FALSE(rim(RecordedAction::segment_free, 512, kSame));
}
