// Times of events and operations, thinned for pictures.
#include "sim/recordings/event_times.hpp"

#include <string>
#include <vector>

#include <catch2/catch.hpp>

#include "tests/support/format_io.hpp"

using namespace highwater;

namespace {

/// Requests whose events were recorded one by one, at `times` in microseconds.
struct Timed {
  explicit Timed(const std::string& text, const std::vector<std::int64_t>& times) {
    derived.requests = test::parse_text(text);
    for (const std::int64_t time : times) {
      device.entries.push_back({.time_us = time});
      derived.entry_ends.push_back(static_cast<std::uint32_t>(device.entries.size()));
    }
  }

  [[nodiscard]] OperationTimes operations(std::size_t most) const {
    return operation_times(derived.requests, derived, device, most);
  }

  DerivedTrace derived;
  RecordedDevice device;
};

constexpr const char* kFive = "conf \nstep 1\na x 512 0\na y 512 0\nf x\nf y\n";

}  // namespace

TEST_CASE("operation times: every n-th operation and the last one; markers are none",
          "[sim][times]") {
  const Timed run(kFive, {10, 20, 30, 40, 50});
  const OperationTimes all = run.operations(4096);
  CHECK(all.width == 1);
  CHECK(all.at == std::vector<std::int64_t>{20, 30, 40, 50, 50});
  const OperationTimes some = run.operations(4);
  CHECK(some.width == 2);
  CHECK(some.at == std::vector<std::int64_t>{20, 40, 50});
}

TEST_CASE("operation times: a clock that goes back stands still", "[sim][times]") {
  const Timed run(kFive, {10, 30, 20, 40, 50});
  CHECK(run.operations(4096).at == std::vector<std::int64_t>{30, 30, 40, 50, 50});
  const EventTimes times = times_of(run.derived.requests, run.derived, run.device);
  CHECK(times.of(2) == 30);
}

TEST_CASE("operation times: none where an entry has no time", "[sim][times]") {
  CHECK(Timed(kFive, {10, 20, -1, 40, 50}).operations(4096).at.empty());
}
