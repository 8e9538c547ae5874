#include "sim/recordings/recorded_requests.hpp"

#include <algorithm>

namespace highwater {
namespace {

/// Allocates the blocks of one initial segment; `block_number` counts through all of them.
void append_segment(const DerivedTrace& derived, const MapSegment& segment,
                    std::size_t& block_number, RequestTrace& trace) {
  const bool is_private = !segment.owner.is_default();
  const PoolIndex pool = is_private ? trace.index_of(segment.owner) : PoolIndex{0};
  if (is_private) {
    trace.events.push_back({.kind = EventKind::pool_begin, .pool = pool});
  }
  for (const MapBlock& block : segment.blocks) {
    const std::size_t i = block_number++;
    if (derived.initial_ids[i].has_value()) {
      trace.events.push_back({.value = block.requested.count(),
                              .allocation = derived.initial_ids[i],
                              .stream = segment.stream,
                              .stack = derived.initial_stacks[i],
                              .kind = EventKind::alloc});
    }
  }
  if (is_private) {
    trace.events.push_back({.kind = EventKind::pool_end, .pool = pool});
  }
}

}  // namespace

RequestTrace recorded_requests(const DerivedTrace& derived,
                               const std::vector<std::size_t>& confirmed, FailedRequests failed) {
  RequestTrace trace;
  trace.header = derived.requests.header;
  trace.stream_handles = derived.requests.stream_handles;
  trace.pools = derived.requests.pools;
  trace.allocation_count = derived.requests.allocation_count;
  trace.tables = derived.requests.tables;
  std::size_t block_number = 0;
  for (const MapSegment& segment : derived.initial.segments) {
    append_segment(derived, segment, block_number, trace);
  }
  auto next = confirmed.begin();
  for (std::size_t i = 0; i < derived.requests.events.size(); ++i) {
    if (next != confirmed.end() && *next == i) {
      trace.events.push_back({.kind = EventKind::empty_cache});
      ++next;
    }
    const Event& event = derived.requests.events[i];
    const bool ran_out = event.kind == EventKind::alloc && derived.failed(event.allocation);
    if (!ran_out || failed == FailedRequests::kept) {
      trace.events.push_back(event);
    }
    if (ran_out && failed == FailedRequests::kept) {
      trace.events.push_back({.allocation = event.allocation, .kind = EventKind::free});
    }
  }
  return trace;
}

std::size_t older_block_events(const DerivedTrace& derived) {
  const auto blocks =
      std::ranges::count_if(derived.initial_ids, [](AllocationId id) { return id.has_value(); });
  const auto private_segments =
      std::ranges::count_if(derived.initial.segments,
                            [](const MapSegment& segment) { return !segment.owner.is_default(); });
  return static_cast<std::size_t>(blocks + 2 * private_segments);
}

}  // namespace highwater
