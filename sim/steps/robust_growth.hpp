// Growth per step, not swayed by single odd steps.
//
// The Theil-Sen slope is the median of the slopes between all pairs of steps; up to 29 % of the
// steps may be outliers. Sen's interval takes the slopes at the ranks (N -+ C) / 2 of the N sorted
// ones, C = 1.96 * sqrt(n (n-1) (2n+5) / 18) (Sen, J. Amer. Statist. Assoc. 63, 1968).
#pragma once

#include <vector>

#include "traces/units.hpp"

namespace highwater {

/// Bytes per step; negative when shrinking.
struct Growth {
  double per_step = 0;
  double low = 0;  ///< 95 % interval
  double high = 0;

  /// Not by chance: even the low end is above 0.
  [[nodiscard]] bool grows() const { return low > 0; }
};

/// Of values at positions 0, 1, ...; all 0 for fewer than three values. Beyond 1000 values, 1000 of
/// them evenly spaced.
Growth robust_growth(const std::vector<Bytes>& values);

}  // namespace highwater
