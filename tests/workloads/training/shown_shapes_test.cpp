// Shapes of runs: what may differ between two ranks of which one shows what the other repeats.
#include "workloads/training/shown_shapes.hpp"

#include <catch2/catch.hpp>

using namespace highwater;

namespace {

RequestTrace one_block(std::uint64_t bytes, std::uint32_t stream, EventKind last) {
  RequestTrace trace;
  trace.allocation_count = 1;
  Event event{.allocation = AllocationId{0U}, .kind = EventKind::alloc};
  event.value = bytes;
  event.stream = StreamId{stream};
  trace.events.push_back(event);
  trace.events.push_back({.allocation = AllocationId{0U}, .kind = last});
  return trace;
}

}  // namespace

TEST_CASE("shown shapes: sizes may differ, events and streams may not", "[generate]") {
  const std::uint64_t shape = shape_of_events(one_block(512, 0, EventKind::free));
  CHECK(shape_of_events(one_block(1024, 0, EventKind::free)) == shape);
  CHECK(shape_of_events(one_block(512, 1, EventKind::free)) != shape);
  CHECK(shape_of_events(one_block(512, 0, EventKind::record_stream)) != shape);
  ShownShapes shown;
  CHECK_FALSE(shown.contains(shape));
  shown.add(shape);
  CHECK(shown.contains(shape));
}
