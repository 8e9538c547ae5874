#include "sim/oom/trace_changes.hpp"

namespace highwater {
namespace {

/// Everything but the events.
RequestTrace without_events(const RequestTrace& trace) {
  RequestTrace copy;
  copy.header = trace.header;
  copy.stream_handles = trace.stream_handles;
  copy.pools = trace.pools;
  copy.allocation_names = trace.allocation_names;
  copy.allocation_count = trace.allocation_count;
  copy.tables = trace.tables;
  return copy;
}

/// The events for which `keep` is true, each passed through `change`.
template <class Keep, class Change>
RequestTrace changed(const RequestTrace& trace, Keep keep, Change change) {
  RequestTrace result = without_events(trace);
  for (const Event& event : trace.events) {
    if (keep(event)) {
      result.events.push_back(change(event));
    }
  }
  return result;
}

constexpr auto kAsItIs = [](const Event& event) { return event; };

}  // namespace

RequestTrace with_frees_before(const RequestTrace& trace, std::size_t event,
                               std::span<const AllocationId> freed) {
  RequestTrace result = without_events(trace);
  std::size_t position = 0;
  for (const Event& next : trace.events) {
    if (position++ == event) {
      for (const AllocationId id : freed) {
        result.events.push_back({.allocation = id, .kind = EventKind::free});
      }
    }
    result.events.push_back(next);
  }
  return result;
}

RequestTrace on_one_stream(const RequestTrace& trace) {
  const auto is_kept = [](const Event& event) { return event.kind != EventKind::record_stream; };
  return changed(trace, is_kept, [](Event event) {
    if (event.is_operation() && event.stream.has_value()) {
      event.stream = StreamId{0U};
    }
    return event;
  });
}

RequestTrace without_stream_uses(const RequestTrace& trace) {
  return changed(
      trace, [](const Event& event) { return event.kind != EventKind::record_stream; }, kAsItIs);
}

RequestTrace without_private_pools(const RequestTrace& trace) {
  const auto is_kept = [](const Event& event) {
    return event.kind != EventKind::pool_begin && event.kind != EventKind::pool_end &&
           event.kind != EventKind::pool_release;
  };
  return changed(trace, is_kept, kAsItIs);
}

}  // namespace highwater
