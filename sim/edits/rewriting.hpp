// What all edits need: copying the events of a run one after the other, and new ids in its tables.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "sim/edits/edit.hpp"

namespace highwater {

/// Hands each event to `use` with the events written so far, and frees the old ones as it goes.
/// Keeps track of where the run itself begins.
template <class Use>
void rewrite(EditedRun& run, Use use) {
  ChunkedVector<Event> source = std::exchange(run.trace.events, {});
  ChunkedVector<Event>& written = run.trace.events;
  const std::size_t older = run.older_events;
  std::size_t position = 0;
  source.drain([&](const Event& event) {
    if (position++ == older) {
      run.older_events = written.size();
    }
    use(event, written);
  });
  if (position <= older) {
    run.older_events = written.size();
  }
}

/// Requests are what programs make; the other events are consequences, or markers.
inline bool is_request(const Event& event) {
  return event.kind == EventKind::alloc || event.kind == EventKind::free;
}

/// An id that no allocation has.
AllocationId new_allocation(RequestTrace& trace);

/// The streams with these handles. If some are new, all events are renumbered, since ids keep the
/// order of the handles.
std::vector<StreamId> streams_called(RequestTrace& trace, std::span<const std::uint64_t> handles);

/// The same for one.
StreamId stream_called(RequestTrace& trace, std::uint64_t handle);

/// Streams that no event names, each for one free that waits; reused when it is done.
class SpareStreams {
 public:
  explicit SpareStreams(RequestTrace& trace) : trace_(&trace) {}

  StreamId take();

  void give_back(StreamId stream) { unused_.push_back(stream); }

 private:
  RequestTrace* trace_;
  std::vector<StreamId> unused_;
};

/// By AllocationId: whether one of `sites` asked for it. Counts them in `report`.
std::vector<bool> allocations_of(const SiteSet& sites, const RequestTrace& trace,
                                 EditReport& report);

/// "3 of 4 blocks (1.50 GiB) freed earlier"
std::string changed_blocks(const EditReport& report, std::string_view what);

}  // namespace highwater
