// Sequences: live bytes at a moment of a replay.
#include "sim/peak/live_bytes.hpp"

#include <string>

#include <catch2/catch.hpp>

#include "tests/sim/peak/two_segments.hpp"
#include "tests/support/format_io.hpp"

using namespace highwater;
using namespace highwater::literals;
using namespace highwater::test;

TEST_CASE("live bytes: the first highest moment, the end, or a given operation",
          "[sim][live_bytes]") {
  const RequestTrace trace = parse_text(kTrace);
  const std::vector<OlderBlockStack> older;
  const auto observe = [&](StateObserver& observer) {
    replay_watched(trace, default_options(), observer);
  };
  const auto at = [&](LiveChoice choice) { return live_bytes_at(trace, older, choice, observe); };
  CHECK(at(LiveExtreme::peak)->total == 4_MiB);
  CHECK(at(LiveExtreme::peak)->at == 1);
  CHECK(at(LiveExtreme::end)->total == 1_MiB);
  CHECK(at(std::uint64_t{0})->total == 1_MiB);
  CHECK_FALSE(at(std::uint64_t{4}).has_value());
}
