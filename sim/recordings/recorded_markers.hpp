// What a recording names besides its entries, as events of the trace that is derived from it:
// steps, phases, where captures of CUDA graphs begin and end, calls of empty_cache, and the
// settings and the memory limits that were applied at run time.
#pragma once

#include <cstdint>
#include <vector>

#include "traces/event.hpp"
#include "traces/recording.hpp"
#include "traces/stack_table.hpp"

namespace highwater {

/// What lies before an entry of its device.
struct Marker {
  enum class Kind : std::uint8_t {
    event,  ///< has no entries of its own
    call,   ///< what it released follows: empty_cache, or the deletion of a MemPool
    done,   ///< the call before it has returned
  };

  std::uint64_t entry = 0;
  Event event;
  Kind kind = Kind::event;
  PoolId pool = {};  ///< that a pool_release means
};

/// Those of the device `index`, in order: annotations whose place among the entries is known. Names
/// of phases are added to `strings`.
std::vector<Marker> recorded_markers(const Recording& recording, int index, StringTable& strings);

}  // namespace highwater
