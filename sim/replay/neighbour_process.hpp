// A neighbour (neighbour.hpp) while both processes run: it is carried out up to the place that the
// trace beside it has reached.
#pragma once

#include <cstddef>
#include <memory>

#include "allocator/caching_allocator.hpp"
#include "allocator/simulated_device.hpp"
#include "sim/replay/neighbour.hpp"
#include "sim/replay/replay_result.hpp"
#include "sim/replay/trace_driver.hpp"
#include "sim/replay/usage_tracker.hpp"

namespace highwater {

class NeighbourProcess {
 public:
  /// @param events of the trace that it runs beside
  NeighbourProcess(std::shared_ptr<const Neighbour> neighbour,
                   const std::shared_ptr<DeviceMemory>& memory, std::size_t events);

  /// Carries out what comes before this event of the trace.
  void before(std::size_t event);

  /// Carries out the rest. A request that fails is passed over.
  NeighbourResult finish();

 private:
  void advance(std::size_t end);

  std::shared_ptr<const Neighbour> neighbour_;
  std::shared_ptr<DeviceMemory> memory_;
  bool has_context_;
  SimulatedDevice device_;
  CachingAllocator allocator_;
  TraceDriver driver_;
  UsageTracker tracker_;
  std::size_t events_;
  std::size_t next_ = 0;
};

}  // namespace highwater
