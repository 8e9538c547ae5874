// What memory that was released before an allocation tells of the allocator's search for room.
//
// An allocation that finds nothing in the cache collects garbage, releases oversize blocks, waits
// for other streams and releases everything, in this order (malloc of
// c10/cuda/CUDACachingAllocator.cpp). The entries between the last request and the allocation show
// which of these it came to.
#pragma once

#include <cstddef>

#include "allocator/settings/settings.hpp"
#include "traces/recording.hpp"

namespace highwater {

/// Entries [begin, end) of a device.
struct EntriesBefore {
  const RecordedDevice& device;
  std::size_t begin;
  std::size_t end;
};

/// Whether unmapping left the rim of a free block that `allocation` got: one can be enough for an
/// allocation that was refused the whole block (by max_split_size) or did not find it free yet.
bool leaves_rim(const EntriesBefore& released, const RecordedEntry& allocation,
                const Settings& settings);

/// Whether something was released that only the last resort releases, which waits for other streams
/// first. Garbage collection and the release of oversize blocks do not account for segments of the
/// small pool, for segments below max_split_size without garbage collection, and for segments that
/// the search would have found, had they been free by then.
bool released_only_by_waiting(const EntriesBefore& released, const RecordedEntry& allocation,
                              const Settings& settings);

/// Whether `freed`, the block before these entries, was not free yet when the allocation searched:
/// it would have served it, so that nothing had been released. Its free waited for another stream
/// then, and completed when the allocation waited.
bool was_waited_for(const EntriesBefore& released, const RecordedEntry& freed,
                    const RecordedEntry& allocation, const Settings& settings);

}  // namespace highwater
