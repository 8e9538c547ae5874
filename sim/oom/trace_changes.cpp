#include "sim/oom/trace_changes.hpp"

#include <utility>

#include "sim/edits/edit.hpp"

namespace highwater {
namespace {

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

RequestTrace with_empty_cache_before(const RequestTrace& trace, std::size_t event) {
  RequestTrace result = without_events(trace);
  std::size_t position = 0;
  for (const Event& next : trace.events) {
    if (position++ == event) {
      result.events.push_back({.kind = EventKind::empty_cache});
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
  EditedRun run{copy_of(trace)};
  apply_edit(DropRecordStreams{all_sites(trace)}, run);
  return std::move(run.trace);
}

RequestTrace without_private_pools(const RequestTrace& trace) {
  const auto is_kept = [](const Event& event) {
    return event.kind != EventKind::pool_begin && event.kind != EventKind::pool_end &&
           event.kind != EventKind::pool_retire && event.kind != EventKind::pool_release;
  };
  return changed(trace, is_kept, kAsItIs);
}

}  // namespace highwater
