#include "sim/replay/free_replay.hpp"

#include <algorithm>

namespace highwater {
namespace {

std::size_t end_of(const RequestTrace& trace, const ReplayOptions& options) {
  const std::size_t size = trace.events.size();
  return options.last_event ? std::min(size, *options.last_event + 1) : size;
}

}  // namespace

FreeReplay::FreeReplay(const RequestTrace& trace, const ReplayOptions& options)
    : device({options.capacity, options.addresses}),
      allocator(device, options.settings, *options.version),
      driver(trace, allocator),
      end(end_of(trace, options)) {
  if (options.fraction) {
    allocator.set_memory_fraction(*options.fraction);
  }
  if (options.memory_limit) {
    allocator.set_memory_limit(*options.memory_limit);
  }
}

}  // namespace highwater
