// In which order blocks go: what every sweep over time needs beside the order in which they come.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "sim/packing/packing.hpp"

namespace highwater {

/// Indices of `blocks` by end, ties in order of index; in linear time (least digit first).
std::vector<std::uint32_t> order_of_ends(std::span<const PackingBlock> blocks);

}  // namespace highwater
