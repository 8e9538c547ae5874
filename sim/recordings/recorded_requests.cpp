#include "sim/recordings/recorded_requests.hpp"

#include <algorithm>
#include <functional>
#include <utility>

namespace highwater {
namespace {

/// Allocates the blocks of one initial segment; `block_number` counts through all of them.
void append_segment(const DerivedTrace& derived, const MapSegment& segment,
                    std::size_t& block_number, RequestTrace& trace) {
  const bool is_private = !segment.owner.is_default();
  const PoolIndex pool = is_private ? trace.index_of(segment.owner) : PoolIndex{0};
  if (is_private) {
    trace.events.push_back(
        {.value = derived.options_of(segment.owner), .kind = EventKind::pool_begin, .pool = pool});
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

/// The trace without its events, but for those that allocate the initial blocks.
RequestTrace with_older_blocks(const DerivedTrace& derived) {
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
  return trace;
}

/// Takes the derived events one after the other.
class Copier {
 public:
  Copier(const DerivedTrace& derived, const std::vector<std::size_t>& confirmed,
         FailedRequests failed)
      : derived_(&derived),
        next_(confirmed.begin()),
        end_(confirmed.end()),
        failed_(failed),
        trace_(with_older_blocks(derived)) {}

  void operator()(const Event& event) {
    if (next_ != end_ && *next_ == read_) {
      trace_.events.push_back({.kind = EventKind::empty_cache});
      ++next_;
    }
    ++read_;
    const bool ran_out = event.kind == EventKind::alloc && derived_->failed(event.allocation);
    if (!ran_out || failed_ == FailedRequests::kept) {
      trace_.events.push_back(event);
    }
    if (ran_out && failed_ == FailedRequests::kept) {
      trace_.events.push_back({.allocation = event.allocation, .kind = EventKind::free});
    }
  }

  RequestTrace take() { return std::move(trace_); }

 private:
  const DerivedTrace* derived_;
  std::vector<std::size_t>::const_iterator next_;
  std::vector<std::size_t>::const_iterator end_;
  FailedRequests failed_;
  std::size_t read_ = 0;
  RequestTrace trace_;
};

}  // namespace

RequestTrace recorded_requests(const DerivedTrace& derived,
                               const std::vector<std::size_t>& confirmed, FailedRequests failed) {
  Copier copy(derived, confirmed, failed);
  for (const Event& event : derived.requests.events) {
    copy(event);
  }
  return copy.take();
}

RequestTrace take_recorded_requests(DerivedTrace& derived,
                                    const std::vector<std::size_t>& confirmed,
                                    FailedRequests failed) {
  Copier copy(derived, confirmed, failed);
  derived.requests.events.drain(std::ref(copy));
  derived.entry_ends = {};
  derived.addresses = {};
  return copy.take();
}

bool are_recorded_requests(const DerivedTrace& derived, const std::vector<std::size_t>& confirmed) {
  return derived.initial.segments.empty() && confirmed.empty() &&
         derived.report.failed_requests == 0;
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
