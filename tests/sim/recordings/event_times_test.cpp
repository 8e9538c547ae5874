// Times of events and operations, thinned for pictures.
#include "sim/recordings/event_times.hpp"

#include <catch2/catch.hpp>

#include "tests/support/format_io.hpp"

using namespace highwater;

TEST_CASE("operation times: every n-th operation and the last one; markers are none",
          "[sim][times]") {
  const RequestTrace trace = test::parse_text("conf \nstep 1\na x 512 0\na y 512 0\nf x\nf y\n");
  const EventTimes times({10, 20, 30, 40, 50});
  const OperationTimes all = operation_times(trace, times);
  CHECK(all.width == 1);
  CHECK(all.at == std::vector<std::int64_t>{20, 30, 40, 50, 50});
  const OperationTimes some = operation_times(trace, times, 4);
  CHECK(some.width == 2);
  CHECK(some.at == std::vector<std::int64_t>{20, 40, 50});
}

TEST_CASE("operation times: none where no times were recorded", "[sim][times]") {
  const RequestTrace trace = test::parse_text("conf \na x 512 0\n");
  CHECK(operation_times(trace, EventTimes{}).at.empty());
}
