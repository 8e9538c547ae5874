#include "sim/replay/state_observer.hpp"

#include "sim/replay/free_replay.hpp"
#include "traces/cancellation.hpp"

namespace highwater {

void replay_watched(const RequestTrace& trace, const ReplayOptions& options,
                    StateObserver& observer) {
  FreeReplay run(trace, options);
  run.allocator.set_listener(observer.listener());
  observer.on_begin(run.allocator, run.driver);
  for (std::size_t i = 0; i < run.end; ++i) {
    stop_if_cancelled_at(i);
    const Event& event = trace.events[i];
    run.before(i);
    const AllocationStatus status = run.driver.apply(event);
    observer.on_state(event, status, run.allocator, run.driver);
    if (status == AllocationStatus::out_of_memory && options.after_oom == AfterOom::stop) {
      return;
    }
  }
}

}  // namespace highwater
