// Closed forms as text and as JSON: the answers, their terms, and where they come from.
#pragma once

#include <string>
#include <vector>

#include <boost/json/fwd.hpp>

#include "tools/command_line.hpp"
#include "tools/compared_estimates.hpp"
#include "tools/metrics.hpp"

namespace highwater {

struct EstimateReport {
  EstimateInputs inputs;
  std::vector<FormulaOutcome> outcomes;
  bool has_details = false;  ///< terms and tables of each form; else one line per form
  bool has_sources = false;  ///< --explain
};

std::string estimate_text(const EstimateReport& report, OutputFormat format);
boost::json::object estimate_json(const EstimateReport& report);
/// One row per term, and one per form with the term "total".
TextTable estimate_table(const EstimateReport& report);

/// A form's description, its answer and its terms; what `estimate` and `simulate` have in common.
boost::json::object outcome_json(const FormulaOutcome& outcome);
boost::json::array refusals_json(const std::vector<FormulaOutcome>& outcomes);

/// "+12.3 %"
std::string percent_text(double fraction);

/// Texts as a list, made valid UTF-8.
boost::json::array words_json(const std::vector<std::string>& words);

// The part of `simulate`.

/// Forms beside the simulated peak, those that apply.
TextTable comparison_table(const EstimateComparison& comparison);

/// One form's bridge, line by line with the largest details, drawn as bars.
TextTable bridge_table(const ComparedEstimate& compared);

boost::json::array comparison_json(const EstimateComparison& comparison);

}  // namespace highwater
