// Programs reduced by hand: what has to be left of each.
#include "sim/reduction/reduction.hpp"

#include <catch2/catch.hpp>

#include "sim/reduction/property_check.hpp"
#include "tests/support/format_io.hpp"

using namespace highwater;
using namespace highwater::literals;

namespace {

constexpr std::uint64_t kMiB = 1048576;

std::string alloc(const std::string& name, std::uint64_t mib, const std::string& rest = "0") {
  return "a " + name + " " + std::to_string(mib * kMiB) + " " + rest + "\n";
}

std::string freed(const std::string& name) {
  return "f " + name + "\n";
}

ReductionOptions on_device(Bytes capacity, WantedProperty wanted) {
  ReductionOptions options;
  options.replay.version = &version_preset("2.6");
  options.replay.capacity = capacity;
  options.wanted = wanted;
  return options;
}

Reduction reduced(const std::string& text, const ReductionOptions& options) {
  std::optional<Reduction> reduction = reduce(test::parse_text("conf \n" + text), options);
  REQUIRE(reduction);
  return std::move(*reduction);
}

std::string text_of(const Reduction& reduction) {
  return test::print_text(reduction.trace);
}

/// On a device of 100 MiB: b stays in the segment of a, so c (60 MiB) finds neither a free block
/// nor room for a segment. Nothing else matters.
std::string fragmented() {
  return "step 0\nphase init\n" + alloc("n1", 4) + alloc("a", 60) + freed("a") + alloc("b", 20) +
         freed("n1") + alloc("n2", 3) + freed("n2") + "c\nphase forward\n" + alloc("c", 60) +
         alloc("later", 5);
}

}  // namespace

TEST_CASE("reduce: a failure by fragmentation keeps what splits the segment", "[sim][reduce]") {
  const Reduction reduction = reduced(fragmented(), on_device(100_MiB, WantedFailure{}));
  // Of a segment of 60 MiB, 48 are enough to leave no room for 60; 2 MiB are the least that stay
  // in it, since blocks of 1 MiB lie in segments of their own.
  CHECK(text_of(reduction) ==
        "conf \n" + alloc("0", 48) + freed("0") + alloc("1", 2) + alloc("2", 60));
  CHECK(std::get<KeptFailure>(reduction.property).cause == OomCause::fragmentation);
  CHECK(reduction.before == ProgramSize{9, 5, 147_MiB});
  CHECK(reduction.after == ProgramSize{4, 3, 110_MiB});
  CHECK(reduction.is_minimal);
  CHECK(reduction.result.counts.ooms == 1);
}

TEST_CASE("reduce: without the free, the same request fails for another cause", "[sim][reduce]") {
  // Dropping the free would make a shorter program that fails because 140 MiB are in use.
  const Reduction reduction = reduced(fragmented(), on_device(100_MiB, WantedFailure{}));
  CHECK(text_of(reduction).find("f 0") != std::string::npos);
  const Reduction capacity = reduced(alloc("a", 60) + freed("a") + alloc("b", 50) + alloc("c", 60),
                                     on_device(100_MiB, WantedFailure{}));
  CHECK(std::get<KeptFailure>(capacity.property).cause == OomCause::capacity);
  CHECK(text_of(capacity) == "conf \n" + alloc("0", 48) + alloc("1", 60));
}

TEST_CASE("reduce: streams and pools that are not needed go", "[sim][reduce]") {
  const std::string text =
      "pool_begin 5\n" + alloc("a", 60, "7") + "r a 9\n" + "pool_end 5\n" + alloc("b", 60, "7");
  const Reduction reduction = reduced(text, on_device(100_MiB, WantedFailure{}));
  // What is left is on one stream, the only one in use there.
  CHECK(text_of(reduction) == "conf \n" + alloc("0", 48, "7") + alloc("1", 60, "7"));
}

TEST_CASE("reduce: free memory of another stream is the cause and stays", "[sim][reduce]") {
  const std::string text =
      alloc("n", 1) + alloc("a", 60, "7") + freed("a") + alloc("b", 2, "7") + alloc("c", 55);
  const ReductionOptions options = on_device(100_MiB, WantedFailure{});
  const Reduction reduction = reduced(text, options);
  const OomCause cause = std::get<KeptFailure>(reduction.property).cause;
  CHECK(cause == OomCause::stream_isolation);
  CHECK(cause_of_first_failure(reduction.trace, options.replay, {}) == cause);
  // 48 beside the other stream's 60 do not fit on the device, but into what is free there.
  CHECK(text_of(reduction) ==
        "conf \n" + alloc("0", 60, "7") + freed("0") + alloc("1", 2, "7") + alloc("2", 48));
}

TEST_CASE("reduce: a peak of reserved memory", "[sim][reduce]") {
  const std::string text =
      alloc("a", 30) + alloc("b", 40) + freed("a") + alloc("c", 90) + freed("b") + alloc("d", 11);
  const Reduction reduction = reduced(text, on_device(1000_MiB, KeptPeak{.least = 120_MiB}));
  CHECK(reduction.result.peak.reserved >= 120_MiB);
  // 90 alone are too few, so one of the others stays; of 90, 80 are enough beside 40.
  CHECK(text_of(reduction) == "conf \n" + alloc("0", 40) + alloc("1", 80));
  CHECK(reduction.is_minimal);
}

TEST_CASE("reduce: fragmentation", "[sim][reduce]") {
  const std::string text =
      alloc("a", 30) + alloc("n", 2) + freed("a") + alloc("b", 64) + freed("n");
  const Reduction reduction = reduced(text, on_device(1000_MiB, KeptFragmentation{.least = 0.25}));
  // 2 MiB in a segment of 20, and then the smallest block in one of 2 MiB.
  CHECK(text_of(reduction) == "conf \na 0 512 0\n");
  CHECK(reduction.result.fragmentation.peak >= 0.25);
}

TEST_CASE("reduce: what is not shown", "[sim][reduce]") {
  const RequestTrace trace = test::parse_text("conf \n" + alloc("a", 60));
  CHECK_FALSE(reduce(trace, on_device(100_MiB, WantedFailure{})));
  CHECK_FALSE(reduce(trace, on_device(100_MiB, KeptPeak{.least = 61_MiB})));
  CHECK_FALSE(reduce(trace, on_device(100_MiB, KeptFragmentation{.least = 0.1})));
}

TEST_CASE("reduce: what the allowed work leaves is shown still", "[sim][reduce]") {
  for (const std::uint64_t most : {0U, 9U, 20U, 60U}) {
    ReductionOptions options = on_device(100_MiB, WantedFailure{});
    options.most_operations = most;
    const Reduction reduction = reduced(fragmented(), options);
    CAPTURE(most);
    CHECK_FALSE(reduction.is_minimal);
    CHECK(reduction.operations_tried <= most);
    CHECK(
        shows_property(reduction.trace,
                       {.options = options.replay, .device = {}, .property = reduction.property}));
  }
}
