// The answers of `plan` as text and as JSON, and the tables of the LLMem paper computed anew.
#pragma once

#include <string>
#include <vector>

#include <boost/json/fwd.hpp>

#include "tools/command_line.hpp"
#include "tools/metrics.hpp"
#include "tools/plan_search.hpp"

namespace highwater {

std::string plan_text(const PlanRequest& request, const PlanResult& result, OutputFormat format);
boost::json::object plan_search_json(const PlanRequest& request, const PlanResult& result);

/// One row per accounting and method.
TextTable plan_table(const PlanResult& result);

}  // namespace highwater
