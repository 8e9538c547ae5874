// What a packing places: blocks with a size and a life.
#pragma once

#include <cstdint>

#include "traces/units.hpp"

namespace highwater {

/// One block to place, alive in [begin, end) of any clock, begin < end.
struct PackingBlock {
  Bytes size;  ///< > 0
  std::uint64_t begin = 0;
  std::uint64_t end = 0;

  [[nodiscard]] bool overlaps(const PackingBlock& other) const {
    return begin < other.end && other.begin < end;
  }
};

}  // namespace highwater
