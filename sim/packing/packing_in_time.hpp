// Packing in order of time: what an allocator without segments would do if it placed each block by
// best fit when it is requested; the same backward in time, from the end. O(n log n).
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "sim/packing/packing.hpp"

namespace highwater {

enum class TimeOrder : std::uint8_t { forward, backward };

Packing pack_in_time(std::span<const PackingBlock> blocks, const OrderOfEnds& ends,
                     TimeOrder order);

}  // namespace highwater
