#include "sim/replay/neighbour_process.hpp"

#include <algorithm>
#include <utility>

namespace highwater {

NeighbourProcess::NeighbourProcess(std::shared_ptr<const Neighbour> neighbour,
                                   const std::shared_ptr<DeviceMemory>& memory, std::size_t events)
    : neighbour_(std::move(neighbour)),
      memory_(memory),
      has_context_(memory->take(neighbour_->context)),
      device_(memory, AddressPolicy::never_reuse),
      allocator_(device_, neighbour_->settings, *neighbour_->version),
      driver_(*neighbour_->run, allocator_),
      tracker_(allocator_),
      events_(events) {}

void NeighbourProcess::before(std::size_t event) {
  const std::vector<std::uint32_t>& turns = neighbour_->turns;
  const std::size_t place = events_ == turns.size() ? event : event * turns.size() / events_;
  advance(turns[std::min(place, turns.size() - 1)]);
}

void NeighbourProcess::advance(std::size_t end) {
  while (has_context_ && next_ < end) {
    const Event& event = neighbour_->run->events[next_++];
    if (event.kind == EventKind::reset_peaks) {
      tracker_.before_reset();
    }
    driver_.apply(event);
    if (event.is_operation()) {
      tracker_.observe();
    }
  }
}

NeighbourResult NeighbourProcess::finish() {
  advance(neighbour_->run->events.size());
  ReplayResult result;
  tracker_.finish(result);
  const Counters& counters = allocator_.statistics().counters;
  return {.peak = result.peak,
          .final = result.final,
          .context = neighbour_->context,
          .has_context = has_context_,
          .ooms = static_cast<std::uint64_t>(counters.num_ooms),
          .alloc_retries = static_cast<std::uint64_t>(counters.num_alloc_retries),
          .device_peak = memory_->peak_used()};
}

}  // namespace highwater
