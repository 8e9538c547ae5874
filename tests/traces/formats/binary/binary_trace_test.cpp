// Rules: the binary format gives back exactly what was written, in little space.
#include "traces/formats/binary/binary_trace.hpp"

#include <catch2/catch.hpp>

#include "tests/support/format_io.hpp"
#include "tests/support/random_traces.hpp"
#include "tests/support/trace_equality.hpp"
#include "traces/formats/binary/binary_stream.hpp"

using namespace highwater;
using namespace highwater::test;

namespace {

/// One training step after the other: forward allocates, backward frees in reverse.
Recording steady_recording(std::size_t steps) {
  Recording recording;
  RecordedDevice& device = recording.devices.emplace_back();
  device.stream_handles = {0};
  std::int64_t time = 1700000000000000;
  const auto add = [&](RecordedAction action, std::uint64_t address, std::uint64_t size) {
    device.entries.push_back(
        {.address = Address{address}, .size = Bytes{size}, .time_us = time += 7, .action = action});
  };
  constexpr std::uint64_t kLayers = 50;
  constexpr std::uint64_t kBase = 0x7f0000000000;
  for (std::size_t step = 0; step < steps; ++step) {
    for (std::uint64_t i = 0; i < kLayers; ++i) {
      add(RecordedAction::alloc, kBase + i * 81920, 81000 + i);
    }
    for (std::uint64_t i = kLayers; i-- > 0;) {
      add(RecordedAction::free_requested, kBase + i * 81920, 81000 + i);
      add(RecordedAction::free_completed, kBase + i * 81920, 81000 + i);
    }
  }
  return recording;
}

template <class Content>
bool survives(const Content& content) {
  return same(content, std::get<Content>(parse_binary(to_binary(content))));
}

}  // namespace

TEST_CASE("binary_trace: any recording comes back exactly", "[traces][binary][property]") {
  for (std::uint32_t seed = 0; seed < 1000; ++seed) {
    CAPTURE(seed);
    REQUIRE(survives(random_recording(seed)));
  }
}

TEST_CASE("binary_trace: any program comes back exactly", "[traces][binary][property]") {
  for (std::uint32_t seed = 0; seed < 1000; ++seed) {
    CAPTURE(seed);
    REQUIRE(survives(random_program(seed)));
  }
}

TEST_CASE("binary_trace: a program is recognised, and is neither of the others",
          "[traces][binary]") {
  CHECK(looks_like_program(to_binary(random_program(1))));
  CHECK_FALSE(looks_like_program(to_binary(random_requests(1))));
  CHECK_FALSE(looks_like_program(to_binary(random_recording(1))));
}

TEST_CASE("binary_trace: any request trace comes back exactly", "[traces][binary][property]") {
  for (std::uint32_t seed = 0; seed < 1000; ++seed) {
    CAPTURE(seed);
    REQUIRE(survives(random_requests(seed)));
  }
}

TEST_CASE("binary_trace: empty contents come back", "[traces][binary]") {
  CHECK(survives(RequestTrace{}));
  CHECK(survives(Recording{}));
}

TEST_CASE("binary_trace: events out of the usual form come back", "[traces][binary]") {
  RequestTrace trace;
  trace.stream_handles = {0};
  trace.events.push_back({.value = 5, .allocation = AllocationId{1U}, .stream = StreamId{0U}});
  trace.events.push_back({.value = 5, .allocation = AllocationId{0U}, .stream = StreamId{0U}});
  trace.events.push_back({.value = 5, .stream = StreamId{}, .kind = EventKind::reset_peaks});
  trace.events.push_back({.value = 3, .allocation = AllocationId{1U}, .kind = EventKind::free});
  trace.allocation_count = 2;
  CHECK(survives(trace));
}

TEST_CASE("binary_trace: an operation says on what", "[traces][binary]") {
  const AllocationId id{0U};
  const StreamId stream{0U};
  for (const Event& event :
       {Event{.allocation = id, .kind = EventKind::alloc},
        Event{.stream = stream, .kind = EventKind::alloc}, Event{.kind = EventKind::free},
        Event{.stream = stream, .kind = EventKind::record_stream},
        Event{.allocation = id, .kind = EventKind::record_stream},
        Event{.kind = EventKind::stream_done}}) {
    RequestTrace trace;
    trace.stream_handles = {0};
    trace.allocation_count = 1;
    trace.events.push_back(event);
    CHECK_THROWS_WITH(survives(trace), Catch::Contains("and names none"));
  }
}

TEST_CASE("binary_trace: names that count and names that do not come back", "[traces][binary]") {
  RequestTrace trace;
  trace.allocation_names = {"1", "2", "007", "18446744073709551615", "9223372036854775807",
                            "0", "",  "x",   "9223372036854775808"};
  trace.stream_handles = {0};
  for (std::size_t i = 0; i < trace.allocation_names.size(); ++i) {
    trace.events.push_back({.allocation = AllocationId{i}, .stream = StreamId{0U}});
  }
  trace.allocation_count = trace.allocation_names.size();
  CHECK(survives(trace));
}

TEST_CASE("binary_trace: conformance traces come back exactly", "[traces][binary]") {
  const auto source = open_source(HIGHWATER_TEST_DATA "/conformance/kitchen_sink.trace.xz");
  CHECK(survives(read_text_trace(*source)));
}

TEST_CASE("binary_trace: a trace longer than a chunk comes back", "[traces][binary]") {
  Recording recording = steady_recording(2000);
  recording.unknown_keys[std::string(200000, 'k')] = 1;
  CHECK(survives(recording));
}

TEST_CASE("binary_trace: repeated steps take less than three bytes an entry", "[traces][binary]") {
  const Recording recording = steady_recording(100);
  CHECK(to_binary(recording).size() < 3 * recording.devices[0].entries.size());
}

TEST_CASE("binary_trace: the same content gives the same bytes", "[traces][binary]") {
  CHECK(to_binary(random_recording(5)) == to_binary(random_recording(5)));
}

TEST_CASE("binary_trace: the magic number tells the format", "[traces][binary]") {
  ByteString bytes = to_binary(RequestTrace{});
  CHECK(looks_like_binary_trace(bytes));
  CHECK_FALSE(looks_like_binary_trace(std::span(bytes).first(7)));
  bytes[3] = std::byte{'X'};
  CHECK_FALSE(looks_like_binary_trace(bytes));
}

TEST_CASE("binary_stream: numbers of every length come back", "[traces][binary]") {
  MemorySink sink;
  BinaryWriter out(sink, BinaryKind::recording);
  std::vector<std::uint64_t> numbers{0, ~std::uint64_t{0}};
  for (unsigned bit = 0; bit < 64; ++bit) {
    numbers.push_back(std::uint64_t{1} << bit);
    numbers.push_back((std::uint64_t{1} << bit) - 1);
  }
  for (const std::uint64_t number : numbers) {
    out.put(number);
    out.put_signed(static_cast<std::int64_t>(number));
    out.put_size(number);
    out.put_distance(12345, number);
  }
  out.put_double(-0.1);
  out.finish();
  const auto source = memory_source(sink.bytes(), "m");
  BinaryReader in(*source);
  for (const std::uint64_t number : numbers) {
    CHECK(in.number() == number);
    CHECK(in.signed_number() == static_cast<std::int64_t>(number));
    CHECK(in.size() == number);
    CHECK(in.distance_from(12345) == number);
  }
  CHECK(in.real() == -0.1);
  in.finish();
}
