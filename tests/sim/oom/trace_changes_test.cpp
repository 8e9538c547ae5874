// Changed traces differ in the one thing asked for.
#include "sim/oom/trace_changes.hpp"

#include <array>

#include <catch2/catch.hpp>

#include "sim/replay/replay.hpp"
#include "tests/support/format_io.hpp"

using namespace highwater;
using namespace highwater::literals;

namespace {

std::size_t count(const RequestTrace& trace, EventKind kind) {
  std::size_t n = 0;
  for (const Event& event : trace.events) {
    n += event.kind == kind ? 1U : 0U;
  }
  return n;
}

const char* const kTwoStreams =
    "conf \na 1 31457280 0\na 2 1048576 1\nr 1 1\nf 1\na 3 31457280 0\nf 2\n";

}  // namespace

TEST_CASE("changes: frees in front of an event", "[sim][changes]") {
  const RequestTrace trace = test::parse_text("conf \na 1 31457280 0\na 2 31457280 0\nf 1\n");
  const std::array freed{AllocationId{0U}};
  const RequestTrace changed = with_frees_before(trace, 1, freed);
  CHECK(changed.events.size() == 4);
  ReplayOptions options;
  options.version = &version_preset("2.6");
  CHECK(replay(trace, options).peak.reserved == 60_MiB);
  CHECK(replay(changed, options).peak.reserved == 30_MiB);  // its own free comes to nothing
}

TEST_CASE("changes: one stream, or no use of a second one", "[sim][changes]") {
  const RequestTrace trace = test::parse_text(kTwoStreams);
  REQUIRE(count(trace, EventKind::record_stream) == 1);
  const RequestTrace alone = without_stream_uses(trace);
  CHECK(count(alone, EventKind::record_stream) == 0);
  CHECK(alone.events.size() == trace.events.size() - 1);
  const RequestTrace merged = on_one_stream(trace);
  CHECK(count(merged, EventKind::record_stream) == 0);
  for (const Event& event : merged.events) {
    CHECK((event.kind != EventKind::alloc || event.stream == StreamId{0U}));
  }
  ReplayOptions options;
  options.version = &version_preset("2.6");
  CHECK(replay(trace, options).peak.reserved == 62_MiB);  // block 1 waits for stream 1
  CHECK(replay(alone, options).peak.reserved == 32_MiB);
}
