// Which allocation of a trace each active block of an allocator belongs to.
//
// The driver forgets a handle when its allocation is freed, but a block that waits for other
// streams still exists then. So handles are noted when they are handed out: a handle belongs to the
// allocation that got it last.
#pragma once

#include <vector>

#include "allocator/memory_map.hpp"
#include "sim/replay/trace_driver.hpp"
#include "traces/event.hpp"

namespace highwater {

class BlockOwners {
 public:
  /// The blocks that are there before the first event; `allocations` is their number in the trace.
  void begin(const TraceDriver& driver, std::size_t allocations);

  /// To be called for every event once it is carried out.
  void follow(const Event& event, const TraceDriver& driver) {
    if (event.kind == EventKind::alloc) {
      own(driver.handle(event.allocation), event.allocation);
    }
  }

  /// The owner of a block of the allocator's current map; none if it is free or unknown.
  [[nodiscard]] AllocationId of(const MapBlock& block) const;

 private:
  void own(BlockId handle, AllocationId allocation);

  std::vector<AllocationId> owners_;  ///< by handle
};

}  // namespace highwater
