// Closed forms as text and as JSON: the answers, their terms, and where they come from.
#pragma once

#include <string>
#include <vector>

#include "tools/text/output_format.hpp"
#include "workloads/estimates/evaluate.hpp"
#include "workloads/estimates/terms/estimate_inputs.hpp"

namespace highwater {

struct EstimateReport {
  EstimateInputs inputs;
  std::vector<FormulaOutcome> outcomes;
  bool has_details = false;  ///< terms and tables of each form; else one line per form
  bool has_sources = false;  ///< --explain
  std::vector<std::string> notes = {};
};

std::string estimate_report(const EstimateReport& estimate, OutputFormat format);

}  // namespace highwater
