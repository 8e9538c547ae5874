// The steps and phases that a recording names, as markers of the trace that is derived from it.
#pragma once

#include <cstdint>
#include <vector>

#include "traces/event.hpp"
#include "traces/recording.hpp"
#include "traces/stack_table.hpp"

namespace highwater {

/// A step or phase marker that lies before an entry of its device.
struct Marker {
  std::uint64_t entry = 0;
  Event event;
};

/// Those of the device `index`, in order: annotations whose place among the entries is known. Names
/// of phases are added to `strings`.
std::vector<Marker> recorded_markers(const Recording& recording, int index, StringTable& strings);

}  // namespace highwater
