// What differs between the peaks of two runs, as JSON of the HTML report.
#pragma once

#include <boost/json/object.hpp>

#include "tools/html/report_run.hpp"

namespace highwater {

/// Rows are [name, bytes of the first, bytes of the second]; they add up to "total".
boost::json::object comparison_json(const ReportRun& first, const ReportRun& second);

}  // namespace highwater
