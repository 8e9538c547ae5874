#include "sim/replay/state_observer.hpp"

#include "allocator/simulated_device.hpp"

namespace highwater {

void replay_watched(const RequestTrace& trace, const ReplayOptions& options,
                    StateObserver& observer) {
  SimulatedDevice device({options.capacity, options.addresses});
  CachingAllocator allocator(device, options.settings, *options.version);
  if (options.fraction) {
    allocator.set_memory_fraction(*options.fraction);
  }
  if (options.memory_limit) {
    allocator.set_memory_limit(*options.memory_limit);
  }
  TraceDriver driver(trace, allocator);
  allocator.set_listener(observer.listener());
  observer.on_begin(allocator, driver);
  std::size_t position = 0;
  for (const Event& event : trace.events) {
    if (options.last_event && position++ > *options.last_event) {
      return;
    }
    const AllocationStatus status = driver.apply(event);
    observer.on_state(event, status, allocator, driver);
    if (status == AllocationStatus::out_of_memory && options.after_oom == AfterOom::stop) {
      return;
    }
  }
}

}  // namespace highwater
