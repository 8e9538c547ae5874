#include "sim/replay/free_replay.hpp"

#include <algorithm>

namespace highwater {
namespace {

std::size_t end_of(const RequestTrace& trace, const ReplayOptions& options) {
  const std::size_t size = trace.events.size();
  return options.last_event ? std::min(size, *options.last_event + 1) : size;
}

std::unique_ptr<NeighbourProcess> neighbour_of(const RequestTrace& trace,
                                               const ReplayOptions& options,
                                               const std::shared_ptr<DeviceMemory>& memory) {
  return options.beside == nullptr
             ? nullptr
             : std::make_unique<NeighbourProcess>(options.beside, memory, trace.events.size());
}

}  // namespace

FreeReplay::FreeReplay(const RequestTrace& trace, const ReplayOptions& options)
    : memory(std::make_shared<DeviceMemory>(options.capacity)),
      device(memory, options.addresses),
      allocator(device, options.settings, *options.version),
      driver(trace, allocator, options.limits),
      beside(neighbour_of(trace, options, memory)),
      end(end_of(trace, options)) {
  if (options.fraction) {
    allocator.set_memory_fraction(*options.fraction);
  }
  if (options.memory_limit) {
    allocator.set_memory_limit(*options.memory_limit);
  }
}

}  // namespace highwater
