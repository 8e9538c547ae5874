// Who watches a replay from outside: events as they are carried out, and decisions if wanted.
#pragma once

#include "allocator/caching_allocator.hpp"
#include "traces/event.hpp"

namespace highwater {

class TraceDriver;

/// Told of every event of a replay once it is carried out.
class ReplayObserver {
 public:
  ReplayObserver() = default;
  ReplayObserver(const ReplayObserver&) = delete;
  ReplayObserver& operator=(const ReplayObserver&) = delete;
  virtual ~ReplayObserver() = default;

  /// Before the first event: the state that the replay starts from. Both live until its end. Called
  /// again where a replay starts anew; what came before is then void.
  virtual void on_start(const CachingAllocator& /*allocator*/, const TraceDriver& /*driver*/) {}

  /// Markers included; `status` matters for allocations only. A replay of a recording also tells of
  /// the empty_cache calls that it found, which are not events of the trace.
  virtual void on_event(const Event& event, AllocationStatus status,
                        const Statistics& statistics) = 0;

  /// What an operation made the allocator do, before on_event tells of the operation.
  virtual void on_decision(const Decision& /*decision*/) {}

  /// Whether on_decision is to be called at all: it takes time.
  [[nodiscard]] virtual bool wants_decisions() const { return false; }
};

}  // namespace highwater
