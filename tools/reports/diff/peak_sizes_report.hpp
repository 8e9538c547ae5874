// The report of the view of blocks of `diff`: sizes and sites alive at one peak and not at the
// other.
#pragma once

#include <cstddef>
#include <string>

#include <boost/json/fwd.hpp>

#include "sim/peak/peak_sizes.hpp"

namespace highwater {

/// The first `top` sizes; the others are summed in one row.
std::string peak_sizes_text(const PeakSizes& sizes, std::size_t top);

/// The key `blocks` of the report: every size.
boost::json::object peak_sizes_json(const PeakSizes& sizes);

/// "4 optim.py:3 step, 2 train.py:9": a few of them in one line.
std::string sites_text(const std::vector<SiteBlocks>& sites);

}  // namespace highwater
