#include "sim/replay/fragmentation.hpp"

#include <algorithm>

namespace highwater {

double unused_share(Bytes used, Bytes reserved) {
  if (reserved.count() == 0) {
    return 0;
  }
  return 1.0 - static_cast<double>(used.count()) / static_cast<double>(reserved.count());
}

Fragmentation measure_fragmentation(const MemoryMap& map) {
  Fragmentation result;
  double squares = 0;
  for (const MapSegment& segment : map.segments) {
    for (const MapBlock& block : segment.blocks) {
      if (block.state != BlockState::inactive) {
        result.rounding += block.size - std::min(block.size, block.requested);
        continue;
      }
      result.free += block.size;
      result.largest_free_block = std::max(result.largest_free_block, block.size);
      (segment.blocks.size() == 1 ? result.free_whole : result.free_in_split) += block.size;
      const double size = static_cast<double>(block.size.count());
      squares += size * size;
    }
  }
  const double total = static_cast<double>(result.free.count());
  result.dispersion = total > 0 ? 1.0 - squares / (total * total) : 0.0;
  return result;
}

}  // namespace highwater
