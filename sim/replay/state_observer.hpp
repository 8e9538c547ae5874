// Watches the whole state of an allocator during a replay, not only its statistics.
//
// A ReplayObserver (replay.hpp) sees counters only; drawing what lies where takes the allocator
// itself and the driver, which knows the handle of each allocation. Both kinds of replay can be
// watched: free ones, and those that follow a recording (fidelity.hpp).
#pragma once

#include <functional>

#include "allocator/caching_allocator.hpp"
#include "sim/replay/replay.hpp"
#include "sim/replay/trace_driver.hpp"
#include "traces/event.hpp"

namespace highwater {

class StateObserver {
 public:
  StateObserver() = default;
  StateObserver(const StateObserver&) = delete;
  StateObserver& operator=(const StateObserver&) = delete;
  virtual ~StateObserver() = default;

  /// Before the first event; the allocator may hold blocks older than the trace already.
  virtual void on_begin(const CachingAllocator& allocator, const TraceDriver& driver) = 0;

  /// After every event, markers included; an empty_cache that a recording shows only by its effects
  /// is reported as an event of its own. `status` matters for allocations only.
  virtual void on_state(const Event& event, AllocationStatus status,
                        const CachingAllocator& allocator, const TraceDriver& driver) = 0;

  /// Receives every decision, before on_state is called for the operation; null: nothing does.
  [[nodiscard]] virtual DecisionListener* listener() { return nullptr; }
};

/// Carries out the same replay each time it is called.
using WatchedReplay = std::function<void(StateObserver&)>;

/// Replays `trace` as replay() does and shows every state to `observer`, not to the observer of
/// the options.
/// @throws InputError as replay()
void replay_watched(const RequestTrace& trace, const ReplayOptions& options,
                    StateObserver& observer);

}  // namespace highwater
