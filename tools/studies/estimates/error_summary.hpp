// Many relative errors in four figures.
#pragma once

#include <cstdint>
#include <vector>

#include "traces/units.hpp"

namespace highwater {

/// value / truth - 1. @pre truth is not 0
double relative_error(double value, Bytes truth);

/// Of relative errors, as fractions: over absolute values, and the signed median.
struct ErrorSummary {
  std::uint64_t count = 0;
  double median = 0;
  double p95 = 0;  ///< nearest rank
  double worst = 0;
  double bias = 0;  ///< median of the signed errors
};

/// All zero for none.
ErrorSummary summarise_errors(std::vector<double> signed_errors);

}  // namespace highwater
