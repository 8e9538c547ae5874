// The bands of the HTML report as JSON: every block over time, who asked for it and its call stack.
#pragma once

#include <boost/json/object.hpp>

#include "tools/html/report_run.hpp"
#include "tools/html/report_sites.hpp"

namespace highwater {

/// The columns of the picture, the blocks that are drawn one by one, the others in groups by site
/// and category, and a bounded tree of call stacks.
boost::json::object bands_json(const ReportRun& run, ReportSites& sites);

/// When operations happened; null where the file has no times.
boost::json::value times_json(const ReportRun& run);

}  // namespace highwater
