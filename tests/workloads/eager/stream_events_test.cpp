// When events of other streams are found complete.
#include "workloads/eager/stream_events.hpp"

#include <catch2/catch.hpp>

#include "workloads/eager/ops.hpp"
#include "workloads/eager/runtime.hpp"

using namespace highwater;

TEST_CASE("stream events: late by launches and questions together", "[workloads][streams]") {
  const StreamId side{1U};
  const StreamId first{10U};
  const StreamId second{11U};
  eager::StreamEvents events({.launches = 4, .queries = 0});
  events.record(side, first);
  events.record(side, second);
  CHECK(events.query().empty());
  events.launch(2);
  CHECK(events.query().empty());                // 1 question before, 2 launches
  CHECK(events.query() == std::vector{first});  // 2 and 2; the second is asked next
  CHECK(events.query().empty());                // 1 and 2
  CHECK(events.query() == std::vector{second});
}

TEST_CASE("stream events: late by questions alone", "[workloads][streams]") {
  eager::StreamEvents events({.launches = 0, .queries = 2});
  events.record(StreamId{1U}, StreamId{10U});
  CHECK(events.query().empty());
  CHECK(events.query().empty());
  CHECK(events.query() == std::vector{StreamId{10U}});
}

TEST_CASE("stream events: complete once the host has waited for their stream",
          "[workloads][streams]") {
  const StreamId side{1U};
  eager::StreamEvents events({.launches = 1000, .queries = 0});
  events.record(side, StreamId{10U});
  const StreamId main{0U};
  events.wait(main, side, events.record());
  events.record(side, StreamId{11U});
  CHECK(events.query().empty());
  events.synchronize(main);
  CHECK(events.query() == std::vector{StreamId{10U}});  // the other one came after the wait
  CHECK(events.query().empty());
}

TEST_CASE("stream events: in a trace each late event has a stream of its own",
          "[workloads][streams]") {
  eager::Runtime runtime(default_gpu(), {2, 6}, {5, 12}, {.launches = 0, .queries = 1});
  const StreamId side = runtime.make_stream();
  for (int i = 0; i < 2; ++i) {
    runtime.record_stream(eager::empty(runtime, {100}, DType::fp32), side);
  }
  for (int i = 0; i < 2; ++i) {
    eager::empty(runtime, {10}, DType::fp32);
  }
  const RequestTrace trace = runtime.take_trace();
  std::string kinds;
  for (const Event& event : trace.events) {
    kinds += event.kind == EventKind::alloc           ? 'a'
             : event.kind == EventKind::free          ? 'f'
             : event.kind == EventKind::record_stream ? 'r'
                                                      : 'e';
  }
  CHECK(kinds == "arfarfeafeaf");
  CHECK(trace.stream_handles.size() == 4);  // main, side, and one for each of the events
}
