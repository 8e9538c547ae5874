// Watches the whole state of an allocator during a replay, not only its statistics.
//
// A ReplayObserver (replay.hpp) sees counters; who wants to draw what lies where needs the
// allocator itself and the driver, which knows the handle of each allocation. Both kinds of replay
// can be watched: free ones, and those that follow a recording (fidelity.hpp).
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

  /// After every event, markers included; an empty_cache that only the recording's effects show is
  /// told as an event of its own. `status` matters for allocations only.
  virtual void on_state(const Event& event, AllocationStatus status,
                        const CachingAllocator& allocator, const TraceDriver& driver) = 0;

  /// Who is told of every decision, before on_state tells of its operation; null: nobody.
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
