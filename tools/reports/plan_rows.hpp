// The rows of `plan`: strategies that were simulated, as a table, as JSON, and in sentences.
#pragma once

#include <string>

#include <boost/json/fwd.hpp>

#include "tools/studies/plan_search/plan_search.hpp"
#include "tools/text/report.hpp"

namespace highwater {

/// @pre result.simulated
Table strategy_table_of(const PlanRequest& request, const PlanResult& result);

/// The same rows with a number or a word in each column, and the command of each. @pre
/// result.simulated
Table csv_table_of(const PlanRequest& request, const PlanResult& result);

/// What follows the table: the first row as a command, what the columns mean, what was left out.
std::string strategy_notes(const PlanRequest& request, const PlanResult& result);

boost::json::object strategies_json(const PlanRequest& request, const PlanResult& result);

/// "8 x 2 x 4, cp 2": how a plan's ranks are divided.
std::string sizes_of(const Parallelism& parallelism);

}  // namespace highwater
