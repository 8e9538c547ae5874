// The report of `plan`: the strategies that were simulated, and what LLMem's algorithm chooses.
#pragma once

#include <string>

#include "tools/studies/plan_search/plan_search.hpp"
#include "tools/text/output_format.hpp"

namespace highwater {

std::string plan_report(const PlanRequest& request, const PlanResult& result, OutputFormat format);

}  // namespace highwater
