// Fragmentation in numbers, each with one definition (tools/docs/definitions.md draws them).
#pragma once

#include "allocator/memory_map.hpp"
#include "traces/units.hpp"

namespace highwater {

struct Fragmentation {
  /// 1 - peak active / peak reserved; 0 when nothing was reserved. The definition of GMLake
  /// (arXiv 2401.08156) and STAlloc (arXiv 2507.16274), so figures can be compared.
  double peak = 0;
  /// 1 - active / reserved, both at the moment of the highest reserved.
  double at_peak_reserved = 0;

  // The final state.
  Bytes free;  ///< reserved and not active
  Bytes largest_free_block;
  Bytes free_in_split;  ///< free blocks of segments that are in use: empty_cache keeps them
  Bytes free_whole;     ///< free whole segments: empty_cache returns them
  Bytes rounding;       ///< active block sizes minus what was asked for
  /// 1 - sum(free block^2) / (sum of free)^2: 0 when all free memory is one block.
  double dispersion = 0;
};

/// The figures of a final state; the two peak ratios are left 0.
Fragmentation measure_fragmentation(const MemoryMap& map);

/// 1 - used / reserved, 0 when nothing is reserved.
double unused_share(Bytes used, Bytes reserved);

}  // namespace highwater
