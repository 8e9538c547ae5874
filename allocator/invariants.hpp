// What must hold of an allocator's state after every operation, checked from outside.
//
// The check looks only at the public picture (memory map and statistics) and shares no code with
// the model, so an error in the model's bookkeeping cannot hide from it.
#pragma once

#include <string>
#include <vector>

#include "allocator/memory_map.hpp"
#include "allocator/statistics.hpp"

namespace highwater {

/// One sentence per violation; empty if all is well.
std::vector<std::string> check_invariants(const MemoryMap& map, const Statistics& statistics);

}  // namespace highwater
