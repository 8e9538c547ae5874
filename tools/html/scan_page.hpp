// A scan as one HTML page: heat maps over ranks, and what outliers hold more or less of.
//
// The page has no script and needs no network. A cell is a rank in the order of the scan; its
// colour says how far its figure lies from the median of all, an outlier has a thick edge, and a
// file that could not be read is crossed out, so that nothing rests on colour alone.
#pragma once

#include <string>

#include "tools/studies/scan/scan_run.hpp"

namespace highwater {

/// The same scan gives the same page.
std::string scan_page(const Scan& scan);

}  // namespace highwater
