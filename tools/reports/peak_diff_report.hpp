// The report of the peak view of `diff`: the change of the peak and what it is made of.
#pragma once

#include <cstddef>
#include <string>

#include <boost/json/fwd.hpp>

#include "tools/studies/explanation/peak_diff_run.hpp"

namespace highwater {

/// Every table ends with its total. `top` rows of each list; the others are summed in one row.
std::string peak_diff_text(const PeakDiff& diff, std::size_t top);

/// The key `peak` of the report: every row of every list, in bytes.
boost::json::object peak_diff_json(const PeakDiff& diff);

}  // namespace highwater
