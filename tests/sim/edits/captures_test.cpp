// Captures of CUDA graphs: found in a run, and arranged otherwise, beside what one would write by
// hand.
#include "sim/edits/captures.hpp"

#include <catch2/catch.hpp>

#include "sim/edits/edit.hpp"
#include "tests/support/format_io.hpp"
#include "traces/error.hpp"
#include "traces/parse_text.hpp"

using namespace highwater;

namespace captures_test {

namespace {

const std::string kSites =
    "frame 0 1 m.py\tmodel\nframe 1 2 m.py\twarm\nframe 2 3 m.py\tgraph\nframe 3 4 m.py\tback\n"
    "stack 0 0\nstack 1 1\nstack 2 2\nstack 3 3\n";

/// A model, then for two sizes a warm-up and a capture whose output `y` is a variable that the
/// second round sets anew.
const std::string kRun =
    "a weights 5000 0 @0\n"
    "a w1 100 0 @1\nf w1\n"
    "op cuda graph capture begins\npool_begin 1\na t1 200 7 @2\na y1 20 7 @2\nf t1\npool_end 1\n"
    "op cuda graph capture ends\n"
    "c\na w2 300 0 @1\nf w2\n"
    "op cuda graph capture begins\npool_begin 2\na t2 400 8 @2\na y2 40 8 @2\nf y1\nf t2\n"
    "pool_end 2\nop cuda graph capture ends\n"
    "a after 600 0 @0\nf y2\n";

RequestTrace trace_of(const std::string& text) {
  return test::parse_text("conf \n" + kSites + text);
}

/// The lines of a trace that are events, without stacks.
std::string event_lines(const RequestTrace& trace) {
  std::string lines;
  for (const std::string& line : split(test::print_text(trace), '\n')) {
    const bool is_event = !line.starts_with("frame") && !line.starts_with("stack") &&
                          !line.starts_with("conf") && !line.starts_with("op") && !line.empty();
    lines += is_event ? line.substr(0, line.find(" @")) + "\n" : "";
  }
  return lines;
}

std::string arranged(const std::string& text, const ArrangeCaptures& edit) {
  EditedRun run{trace_of(text)};
  apply_edit(edit, run);
  return event_lines(run.trace);
}

}  // namespace

TEST_CASE("captures: each is found with what prepares it", "[sim][captures]") {
  const RequestTrace trace = trace_of(kRun);
  const Captures captures = find_captures(trace, 0);
  CHECK(captures.are_marked);
  REQUIRE(captures.list.size() == 2);
  CHECK(trace.events[captures.list[0].begin].value == 100);  // the first warm-up, not the model
  CHECK(captures.list[0].most_live == Bytes{220});
  CHECK(captures.list[1].most_live == Bytes{440});
  CHECK(trace.pools[captures.list[1].pool] == PoolId{2, 0});
}

TEST_CASE("captures: without marks they end where another pool is asked", "[sim][captures]") {
  const Captures captures =
      find_captures(trace_of("pool_begin 1\na x 200 7\na y 20 7\nf x\npool_end 1\na w 9 0\nf w\n"
                             "pool_begin 1\na z 400 7\npool_end 1\n"),
                    0);
  CHECK_FALSE(captures.are_marked);
  REQUIRE(captures.list.size() == 2);
  CHECK(captures.list[0].blocks == 2);
  CHECK(captures.list[1].blocks == 1);
}

TEST_CASE("captures: a backward capture is one with its forward capture", "[sim][captures]") {
  const Captures captures =
      find_captures(trace_of("pool_begin 1\na saved 200 7 @2\npool_end 1\na g 9 0 @1\n"
                             "pool_begin 1\na grad 50 7 @3\nf saved\npool_end 1\n"),
                    0);
  REQUIRE(captures.list.size() == 1);
  CHECK(captures.list.front().graphs == 2);
  CHECK(captures.list.front().most_live == Bytes{250});
}

TEST_CASE("captures: one pool and one stream", "[sim][captures]") {
  CHECK(arranged(kRun, {.pools = ArrangeCaptures::Pools::one,
                        .streams = ArrangeCaptures::Streams::one}) ==
        "a weights 5000 0\n"
        "a w1 100 0\nf w1\npool_begin 0,1\na t1 200 7\na y1 20 7\nf t1\npool_end 0,1\n"
        "c\na w2 300 0\nf w2\npool_begin 0,1\npool_release 0,1\na t2 400 7\na y2 40 7\nf y1\nf t2\n"
        "pool_end 0,1\na after 600 0\nf y2\n");
}

TEST_CASE("captures: in another order the variable is set anew by whoever comes next",
          "[sim][captures]") {
  CHECK(arranged(kRun, {.order_by = ArrangeCaptures::Order::largest_first}) ==
        "a weights 5000 0\n"
        "c\na w2 300 0\nf w2\npool_begin 2\na t2 400 8\na y2 40 8\nf t2\npool_end 2\n"
        "a w1 100 0\nf w1\npool_begin 1\na t1 200 7\na y1 20 7\nf y2\nf t1\npool_end 1\n"
        "a after 600 0\nf y1\n");
}

TEST_CASE("captures: some of them, and one of them twice", "[sim][captures]") {
  const std::string lines =
      arranged(kRun, {.order_by = ArrangeCaptures::Order::listed, .together = {}, .order = {1, 1}});
  CHECK(lines ==
        "a weights 5000 0\n"
        "c\na w2 300 0\nf w2\npool_begin 2\na t2 400 8\na y2 40 8\nf t2\npool_end 2\n"
        "c\na edit-8 300 0\nf edit-8\npool_begin 2\npool_release 2\na edit-9 400 8\n"
        "a edit-10 40 8\nf y2\nf edit-9\npool_end 2\na after 600 0\nf edit-10\n");
}

TEST_CASE("captures: numbers that no capture has, and runs without any, are told",
          "[sim][captures]") {
  CHECK_THROWS_AS(
      arranged(kRun, {.order_by = ArrangeCaptures::Order::listed, .together = {}, .order = {2}}),
      UsageError);
  CHECK_THROWS_AS(arranged("a x 512 0\nf x\n", {.pools = ArrangeCaptures::Pools::one}), UsageError);
}

}  // namespace captures_test
