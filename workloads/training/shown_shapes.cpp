#include "workloads/training/shown_shapes.hpp"

#include <boost/container_hash/hash.hpp>

namespace highwater {

std::uint64_t shape_of_events(const RequestTrace& trace) {
  std::size_t shape = trace.allocation_count;
  for (std::size_t i = 0; i < trace.events.size(); ++i) {
    const Event& event = trace.events[i];
    boost::hash_combine(shape, static_cast<std::uint64_t>(event.kind) << 32U |
                                   (event.allocation.has_value() ? event.allocation.value() : 0U));
    boost::hash_combine(shape, event.stream.has_value() ? event.stream.value() : 0U);
  }
  return shape;
}

}  // namespace highwater
