// What a replay that decides freely consists of: a simulated device, the allocator on it, and the
// driver that hands it the events of a trace.
#pragma once

#include <cstddef>

#include "allocator/caching_allocator.hpp"
#include "allocator/simulated_device.hpp"
#include "sim/replay/replay.hpp"
#include "sim/replay/trace_driver.hpp"

namespace highwater {

struct FreeReplay {
  /// As `options` have it, but without their observer and listener. `trace` must outlive it.
  FreeReplay(const RequestTrace& trace, const ReplayOptions& options);

  SimulatedDevice device;
  CachingAllocator allocator;
  TraceDriver driver;
  std::size_t end;  ///< the replay stops before this event
};

}  // namespace highwater
