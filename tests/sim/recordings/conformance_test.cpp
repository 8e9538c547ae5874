// Fidelity: every conformance vector of PyTorch 2.6.0, line by line. The command that users run
// (`highwater conformance`) is tested in tests/tools/commands; here each vector is one section.
#include "sim/recordings/conformance.hpp"

#include <filesystem>

#include <catch2/catch.hpp>

#include "traces/formats/bytes/byte_source.hpp"
#include "traces/formats/text/text_trace.hpp"

using namespace highwater;

namespace {

ConformanceOutput run(const std::string& name) {
  return run_conformance(
      read_text_trace(*open_source(std::string(HIGHWATER_TEST_DATA "/conformance/") + name)),
      version_preset("2.6"));
}

}  // namespace

TEST_CASE("conformance: the first difference is found by line, in either direction",
          "[sim][conformance]") {
  using Lines = std::vector<std::string>;
  CHECK_FALSE(first_difference(Lines{"a", "b"}, Lines{"a", "b"}));
  CHECK(first_difference(Lines{"a", "b"}, Lines{"a", "c"})->line == 2);
  CHECK(first_difference(Lines{"a", "b"}, Lines{"a"})->actual.empty());
  CHECK(first_difference(Lines{"a"}, Lines{"a", "b"})->expected.empty());
}

TEST_CASE("conformance: only events whose order is left open may change places",
          "[sim][conformance]") {
  using Lines = std::vector<std::string>;
  CHECK(normalised_events(Lines{"5 free_completed 0x2 1 0", "5 free_completed 0x1 1 0"}) ==
        Lines{"5 free_completed 0x1 1 0", "5 free_completed 0x2 1 0"});
  const Lines other_operations{"5 free_completed 0x2 1 0", "6 free_completed 0x1 1 0"};
  CHECK(normalised_events(other_operations) == other_operations);
  const Lines fixed{"5 segment_alloc 0x2 1 0", "5 alloc 0x1 1 0"};
  CHECK(normalised_events(fixed) == fixed);
}

TEST_CASE("conformance: a replay is deterministic", "[sim][conformance]") {
  const ConformanceOutput once = run("h14_record_stream.trace");
  const ConformanceOutput twice = run("h14_record_stream.trace");
  CHECK(once.expected == twice.expected);
  CHECK(once.events == twice.events);
  CHECK(once.expected.front() == "1 0x7f0000000000 0x7f0000000000 4194304");
}
