// The data of the HTML report as JSON: what the page draws, bounded in size whatever the run.
#pragma once

#include <string>

#include <boost/json/object.hpp>

#include "tools/html/report_run.hpp"

namespace highwater {

/// Schema "highwater.report/1": bytes are integers; curves are differences from bucket to bucket.
boost::json::object report_json(const ReportRun& run);

/// Both runs under "runs", and under "comparison" what changes the peak from the first to the
/// second.
boost::json::object report_json(const ReportRun& first, const ReportRun& second);

}  // namespace highwater
