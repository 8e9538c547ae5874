// Rules: the text format says what its header comment says, and survives a round trip.
#include "traces/formats/text/text_trace.hpp"

#include <filesystem>
#include <sstream>

#include <catch2/catch.hpp>

#include "tests/support/format_io.hpp"
#include "tests/support/random_traces.hpp"
#include "tests/support/trace_equality.hpp"
#include "traces/pool_options.hpp"

using namespace highwater;
using namespace highwater::test;

namespace {

std::string without_comments(const std::string& text) {
  std::istringstream in(text);
  std::string kept;
  for (std::string line; std::getline(in, line);) {
    kept += line.empty() || line[0] == '#' ? "" : line + '\n';
  }
  return kept;
}

std::vector<std::filesystem::path> conformance_traces() {
  std::vector<std::filesystem::path> paths;
  for (const auto& file : std::filesystem::directory_iterator(HIGHWATER_TEST_DATA "/conformance")) {
    if (file.path().filename().string().find(".trace") != std::string::npos) {
      paths.push_back(file.path());
    }
  }
  std::ranges::sort(paths);
  return paths;
}

}  // namespace

TEST_CASE("text_trace: header lines fill the header", "[traces][text]") {
  const RequestTrace trace = parse_text(
      "# comment\n\nconf a:1,b:2 c\ndevice 85899345920\nfraction 0.5\naddr reuse\ntorch 2.15\n");
  CHECK(trace.header == TraceHeader{.settings = "a:1,b:2 c",
                                    .capacity = Bytes{85899345920},
                                    .fraction = 0.5,
                                    .addresses = AddressPolicy::lowest_fit,
                                    .torch = Release{2, 15}});
  CHECK(trace.events.empty());
}

TEST_CASE("text_trace: absent header lines mean empty settings and no limit", "[traces][text]") {
  CHECK(parse_text("c\n").header == TraceHeader{});
  CHECK(parse_text("conf\nc\n").header == TraceHeader{});
}

TEST_CASE("text_trace: every operation becomes its event", "[traces][text]") {
  const RequestTrace trace = parse_text(
      "a 0 512 7\na 1 0 3\nf 0\nr 1 7\ne 3\nE\nc\np\npool_begin 4\npool_end 4\n"
      "pool_release 0,9 now\npool_begin 0,9 no_split use_on_oom\nsetconf x:1\nlimit 99\nlimit "
      "none\npool_retire 0,9\nstep 12\nphase "
      "forward\nop aten::mm (2)\n");
  const std::vector<Event> expected{
      {.value = 512, .allocation = AllocationId{0U}, .stream = StreamId{1U}},
      {.value = 0, .allocation = AllocationId{1U}, .stream = StreamId{0U}},
      {.allocation = AllocationId{0U}, .kind = EventKind::free},
      {.allocation = AllocationId{1U}, .stream = StreamId{1U}, .kind = EventKind::record_stream},
      {.stream = StreamId{0U}, .kind = EventKind::stream_done},
      {.kind = EventKind::all_streams_done},
      {.kind = EventKind::empty_cache},
      {.kind = EventKind::reset_peaks},
      {.kind = EventKind::pool_begin, .pool = 0},
      {.kind = EventKind::pool_end, .pool = 0},
      {.value = 1, .kind = EventKind::pool_release, .pool = 1},
      {.value = value_of({.use_on_oom = true, .no_split = true}),
       .kind = EventKind::pool_begin,
       .pool = 1},
      {.value = 0, .kind = EventKind::set_settings},
      {.value = 99, .kind = EventKind::memory_limit},
      {.value = kNoLimit, .kind = EventKind::memory_limit},
      {.kind = EventKind::pool_retire, .pool = 1},
      {.value = 12, .kind = EventKind::step},
      {.value = 1, .kind = EventKind::phase},
      {.value = 2, .kind = EventKind::op},
  };
  REQUIRE(trace.events.size() == expected.size());
  for (std::size_t i = 0; i < expected.size(); ++i) {
    CAPTURE(i);
    CHECK(trace.events[i] == expected[i]);
  }
  CHECK(trace.stream_handles == std::vector<std::uint64_t>{3, 7});
  CHECK(trace.pools == std::vector<PoolId>{{4, 0}, {0, 9}});
  CHECK(strings_of(trace.tables) == std::vector<std::string>{"x:1", "forward", "aten::mm (2)"});
  CHECK(trace.allocation_count == 2);
  CHECK(trace.allocation_names.empty());
}

TEST_CASE("text_trace: names are kept when they are not 0, 1, 2, ...", "[traces][text]") {
  CHECK(parse_text("a 0 1 0\na 1 1 0\n").allocation_names.empty());
  CHECK(parse_text("a 0 1 0\na weight 1 0\na 2 1 0\n").allocation_names ==
        std::vector<std::string>{"0", "weight", "2"});
  CHECK(parse_text("a 00 1 0\na 99999999999999999999 1 0\n").allocation_names ==
        std::vector<std::string>{"00", "99999999999999999999"});
}

TEST_CASE("text_trace: far apart numbers name allocations as well as words do", "[traces][text]") {
  const RequestTrace trace = parse_text(
      "a 18446744073709551615 1 0\na 70000 2 0\na 1 3 0\nf 70000\nf 1\nf 18446744073709551615\n");
  CHECK(trace.events[3].allocation == AllocationId{1U});
  CHECK(trace.events[4].allocation == AllocationId{2U});
  CHECK(trace.events[5].allocation == AllocationId{0U});
}

TEST_CASE("text_trace: category and call stack follow the stream", "[traces][text]") {
  const RequestTrace trace = parse_text(
      "frame 3 17 /a b.py\tforward\nframe 9 -1 x.cpp\trun\nstack 5 3 9\n"
      "a 0 512 0 activation @5\na 1 512 0 @5\na 2 512 0 gradient\nf 0 @5\n");
  CHECK(trace.events[0].category == Category::activation);
  CHECK(trace.events[2].category == Category::gradient);
  CHECK_FALSE(trace.events[2].stack.has_value());
  const StackId stack = trace.events[0].stack;
  CHECK(trace.events[1].stack == stack);
  CHECK(trace.events[3].stack == stack);
  const auto frames = trace.tables.stacks.stack(stack);
  REQUIRE(frames.size() == 2);
  const Frame inner = trace.tables.stacks.frame(frames[0]);
  CHECK(trace.tables.strings[inner.file] == "/a b.py");
  CHECK(trace.tables.strings[inner.function] == "forward");
  CHECK(inner.line == 17);
  CHECK(trace.tables.stacks.frame(frames[1]).line == -1);
}

TEST_CASE("text_trace: Windows line ends and a missing last one are accepted", "[traces][text]") {
  const RequestTrace trace = parse_text("conf x\r\na 0 1 0\r\nE\r\nf 0");
  CHECK(trace.header.settings == "x");
  CHECK(trace.events.size() == 3);
}

TEST_CASE("text_trace: a second free is legal", "[traces][text]") {
  CHECK(parse_text("a 0 1 0\nf 0\nf 0\n").events.size() == 3);
}

TEST_CASE("text_trace: conformance traces come back line by line", "[traces][text]") {
  const auto paths = conformance_traces();
  REQUIRE(paths.size() > 70);
  for (const auto& path : paths) {
    CAPTURE(path);
    const std::string text = read_all(*open_source(path));
    CHECK(print_text(parse_text(text)) == without_comments(text));
  }
}

TEST_CASE("text_trace: any trace survives writing and reading", "[traces][text][property]") {
  for (std::uint32_t seed = 0; seed < 500; ++seed) {
    CAPTURE(seed);
    const std::string text = print_text(random_requests(seed));
    const RequestTrace once = parse_text(text);
    const RequestTrace twice = parse_text(print_text(once));
    CHECK(same(once, twice));
  }
}

TEST_CASE("text_trace: what is written says the same as the trace", "[traces][text][property]") {
  for (std::uint32_t seed = 0; seed < 500; ++seed) {
    CAPTURE(seed);
    const RequestTrace trace = random_requests(seed);
    const RequestTrace back = parse_text(print_text(trace));
    REQUIRE(back.events.size() == trace.events.size());
    CHECK(back.header == trace.header);
    CHECK(back.allocation_names == trace.allocation_names);
    for (std::size_t i = 0; i < trace.events.size(); ++i) {
      const Event& a = trace.events[i];
      const Event& b = back.events[i];
      CHECK(a.kind == b.kind);
      CHECK(a.allocation == b.allocation);
      CHECK(a.category == b.category);
      CHECK(a.stack.has_value() == b.stack.has_value());
      if (a.stream.has_value()) {
        CHECK(trace.stream_handles[a.stream.index()] == back.stream_handles[b.stream.index()]);
      }
      if (a.kind == EventKind::phase || a.kind == EventKind::op) {
        CHECK(trace.tables.strings[a.text()] == back.tables.strings[b.text()]);
      }
    }
  }
}

TEST_CASE("text_trace: lines longer than a block are read", "[traces][text]") {
  const std::string name(3 << 20, 'n');
  CHECK(parse_text("op " + name + "\nc\n").tables.strings[StringId{0U}] == name);
}

TEST_CASE("text_trace: the first line that is no comment tells the format", "[traces][text]") {
  const auto [head, expected] = GENERATE(table<std::string, bool>({
      {"conf \n", true},
      {"# comment\n\na 1 2 0\n", true},
      {"E\r\n", true},
      {"# only comments", true},
      {"", false},
      {"{\"schema\": 1}", false},
      {"\x80\x02}q", false},
      {"id,bytes\n", false},
  }));
  CAPTURE(head);
  CHECK(looks_like_text_trace(to_bytes(head)) == expected);
}
