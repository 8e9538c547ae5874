// The report of `validate --reference`: the cases, what failed, and what is known not to match.
#pragma once

#include <string>
#include <vector>

#include <boost/json/fwd.hpp>

#include "tools/studies/validation/reference_run.hpp"
#include "tools/text/metrics.hpp"

namespace highwater {

/// One line per case.
TextTable reference_table(const std::vector<ReferenceResult>& results);

/// One line per figure, for CSV.
TextTable reference_value_table(const std::vector<ReferenceResult>& results);

/// Figures that differ from what they should be, and cases that nothing recomputed.
TextTable reference_failure_table(const std::vector<ReferenceResult>& results);

/// Figures that the sources print and their formulas do not give.
TextTable known_mismatch_table(const std::vector<ReferenceResult>& results);

/// Figures that are quoted only.
TextTable observation_table(const std::vector<ReferenceResult>& results);

std::uint64_t count_results(const std::vector<ReferenceResult>& results, ReferenceVerdict verdict);

/// "N passed, N failed".
std::string reference_summary(const std::vector<ReferenceResult>& results);

boost::json::object reference_json(const std::vector<ReferenceResult>& results);

}  // namespace highwater
