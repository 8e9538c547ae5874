// The answers of `plan` as text and as JSON, and the tables of the LLMem paper computed anew.
#pragma once

#include <string>
#include <vector>

#include <boost/json/fwd.hpp>

#include "tools/studies/plan_search/plan_search.hpp"
#include "tools/text/metrics.hpp"
#include "tools/text/output_format.hpp"

namespace highwater {

std::string plan_text(const PlanRequest& request, const PlanResult& result, OutputFormat format);
boost::json::object plan_search_json(const PlanRequest& request, const PlanResult& result);

/// One row per accounting and method.
TextTable plan_table(const PlanResult& result);

}  // namespace highwater
