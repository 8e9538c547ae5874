// The parts of the report's data that are pictures: curves, key moments with their segment maps,
// and flame graphs.
#pragma once

#include <string_view>

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>

#include "sim/peak/stack_tree.hpp"
#include "tools/html/report_run.hpp"
#include "tools/html/report_sites.hpp"

namespace highwater {

boost::json::object usage_json(const Usage& usage);

/// Per curve the lowest and highest value of each bucket, as differences: `high` from the bucket
/// before, `low` from `high` (how far below).
boost::json::object curves_json(const Timeline& timeline);

/// The key moments by time; kinds that share an operation share one entry and its map.
boost::json::array moments_json(const ReportRun& run, ReportSites& sites);

/// A flame graph: nodes are [frame, value, children, joined]; frame -1 is the root or unknown.
boost::json::object flame_json(const SideTables& tables, const StackValues& values);

}  // namespace highwater
