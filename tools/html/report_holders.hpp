// The parts of the report's data that are about call sites: who holds the memory at the peak, who
// pins free memory, and both by call stack as flame graphs.
#pragma once

#include <boost/json/object.hpp>

#include "tools/html/report_run.hpp"
#include "tools/html/report_sites.hpp"

namespace highwater {

/// Adds `holders`, `blame` and `flames` to `root`; sums are exact, whatever is left out of a list.
void add_holders(const ReportRun& run, ReportSites& sites, boost::json::object& root);

}  // namespace highwater
