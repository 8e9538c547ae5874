// Which ranks differ from the others, and in what.
//
// An outlier is a figure whose modified z-score, 0.6745 (x - median) / MAD with MAD the median
// absolute deviation, lies beyond 3.5 (Iglewicz and Hoaglin, "How to Detect and Handle Outliers",
// 1993) and that is more than 1 % off the median. If more than half of the figures are equal, MAD
// is 0 and tells nothing. Ranks of one kind are often alike to the byte, so then a figure is an
// outlier if few share it: at most a quarter of the ranks are within 1 % of it. That is what
// remains of the modified z-score of IBM Cognos Analytics, which for a MAD of 0 divides by 1.253314
// times the mean absolute deviation: with a share p of the ranks off by as much and the rest alike,
// 1 / 1.253314 p, which is beyond 3.5 for less than 0.228. A quarter still counts, so that one of
// four ranks does, and other figures do not count, so that one far off does not hide another. What
// more ranks share is another kind of rank, such as those of a pipeline stage. Fewer than four
// figures have no outliers.
#pragma once

#include "tools/studies/scan/scan_run.hpp"

namespace highwater {

/// Marks outliers, names what they hold more or less of, and computes the spreads.
void compare_rows(Scan& scan);

}  // namespace highwater
