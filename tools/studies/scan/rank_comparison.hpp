// Which ranks differ from the others, and in what.
//
// An outlier is a figure whose modified z-score, 0.6745 (x - median) / MAD with MAD the median
// absolute deviation, lies beyond 3.5 (Iglewicz and Hoaglin, "How to Detect and Handle Outliers",
// 1993) and that is more than 1 % off the median. If more than half of the figures are equal, MAD
// is 0 and only the 1 % rule applies. Fewer than four figures have no outliers.
#pragma once

#include "tools/studies/scan/scan_run.hpp"

namespace highwater {

/// Marks outliers, names what they hold more or less of, and computes the spreads.
void compare_rows(Scan& scan);

}  // namespace highwater
