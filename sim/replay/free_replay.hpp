// What a replay that decides freely consists of: a simulated device, the allocator on it, and the
// driver that hands it the events of a trace.
#pragma once

#include <cstddef>
#include <memory>

#include "allocator/caching_allocator.hpp"
#include "allocator/simulated_device.hpp"
#include "sim/replay/neighbour_process.hpp"
#include "sim/replay/replay.hpp"
#include "sim/replay/trace_driver.hpp"

namespace highwater {

struct FreeReplay {
  /// As `options` have it, but without their observer and listener. `trace` must outlive it.
  FreeReplay(const RequestTrace& trace, const ReplayOptions& options);

  /// What a second process does before this event, if there is one.
  void before(std::size_t event) {
    if (beside != nullptr) {
      beside->before(event);
    }
  }

  std::shared_ptr<DeviceMemory> memory;
  SimulatedDevice device;
  CachingAllocator allocator;
  TraceDriver driver;
  std::unique_ptr<NeighbourProcess> beside;
  std::size_t end;  ///< the replay stops before this event
};

}  // namespace highwater
