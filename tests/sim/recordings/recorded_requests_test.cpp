// Requests taken out of a derived trace are those that a copy has.
#include "sim/recordings/recorded_requests.hpp"

#include <catch2/catch.hpp>

#include "tests/support/recording_builder.hpp"

using namespace highwater;
using namespace highwater::literals;

namespace {

constexpr std::uint64_t kFirst = 0x7f0000000000;

DerivedTrace requests_in(const RecordingBuilder& builder) {
  return derive_requests(builder.get(), builder.get().devices.front(), Settings());
}

/// More requests than a chunk of events holds.
RecordingBuilder long_recording() {
  RecordingBuilder builder;
  builder.segment_alloc(kFirst, 20_MiB);
  for (std::size_t i = 0; i < ChunkedVector<Event>::kChunk; ++i) {
    builder.alloc(kFirst, 3_MiB).free(kFirst, 3_MiB);
  }
  builder.final_segment(kFirst, {{20_MiB, BlockState::inactive}});
  return builder;
}

}  // namespace

TEST_CASE("recorded requests: taken or copied, they are the same", "[sim][derivation]") {
  DerivedTrace derived = requests_in(long_recording());
  const std::vector<std::size_t> confirmed{3};
  const RequestTrace copied = recorded_requests(derived, confirmed);
  CHECK_FALSE(are_recorded_requests(derived, confirmed));
  const RequestTrace taken = take_recorded_requests(derived, confirmed);
  CHECK(taken.events.size() == 2 * ChunkedVector<Event>::kChunk + 1);
  CHECK(taken.events[3].kind == EventKind::empty_cache);
  REQUIRE(taken.events.size() == copied.events.size());
  bool is_same = true;
  for (std::size_t i = 0; i < taken.events.size(); ++i) {
    is_same = is_same && taken.events[i] == copied.events[i];
  }
  CHECK(is_same);
  CHECK(derived.requests.events.empty());
  CHECK(derived.report.entries_read == 3 * ChunkedVector<Event>::kChunk + 1);
}

TEST_CASE("recorded requests: a complete recording without failures is derived as it is",
          "[sim][derivation]") {
  const DerivedTrace derived = requests_in(long_recording());
  CHECK(are_recorded_requests(derived, {}));
  CHECK(recorded_requests(derived, {}).events.size() == derived.requests.events.size());
}
