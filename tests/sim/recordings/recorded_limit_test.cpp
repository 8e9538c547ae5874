// Which limit a recording shows, by a note or by its first failure: the device's, or the process's
// own.
#include "sim/recordings/recorded_limit.hpp"

#include <catch2/catch.hpp>

#include "sim/recordings/fidelity.hpp"

using namespace highwater;
using namespace highwater::literals;

namespace {

/// 50 MiB are reserved, 60 were at the peak, and 20 are refused.
FidelityReplay refused_with(Bytes device_free) {
  FidelityReplay replay;
  replay.result.peak.reserved = 60_MiB;
  OutOfMemory account;
  account.segment_size = 20_MiB;
  account.reserved = 50_MiB;
  account.device_free = device_free;
  replay.result.ooms.push_back({.operation = 3, .account = account});
  return replay;
}

}  // namespace

TEST_CASE("recorded limit: the device has less than was asked for", "[sim][recorded_limit]") {
  const auto limit = recorded_limit(std::nullopt, refused_with(20_MiB - 1_B));
  REQUIRE(limit);
  CHECK(limit->source == RecordedLimit::Source::device);
  CHECK(limit->at_least == 70_MiB - 1_B);
  CHECK(limit->below == 70_MiB);
}

TEST_CASE("recorded limit: a device that has enough leaves a memory fraction",
          "[sim][recorded_limit]") {
  const auto limit = recorded_limit(std::nullopt, refused_with(20_MiB));
  REQUIRE(limit);
  CHECK(limit->source == RecordedLimit::Source::fraction);
  CHECK(limit->at_least == 60_MiB);  // reserved once, so it is allowed
  CHECK(limit->below == 70_MiB);
}

TEST_CASE("recorded limit: none without a failure", "[sim][recorded_limit]") {
  const FidelityReplay replay;
  CHECK_FALSE(recorded_limit(std::nullopt, replay));
}

TEST_CASE("recorded limit: a note is better than what a failure shows", "[sim][recorded_limit]") {
  const auto limit = recorded_limit(80_MiB, refused_with(20_MiB - 1_B));
  REQUIRE(limit);
  CHECK(limit->source == RecordedLimit::Source::noted);
  CHECK(limit->at_least == 80_MiB);
  ReplayOptions options;
  bound_as_shown(*limit, options);
  CHECK(options.capacity == 80_MiB);
  CHECK_FALSE(options.memory_limit);
  CHECK(is_bound_as_shown(*limit, options));
}
