// The report of `validate --recorded`: one line per case, the worst first, and the summary.
#pragma once

#include <string>
#include <vector>

#include <boost/json/fwd.hpp>

#include "tools/studies/validation/validate_run.hpp"
#include "tools/text/metrics.hpp"

namespace highwater {

/// Cases that were simulated.
TextTable case_table(const std::vector<CaseValidation>& cases);

/// Cases that were not, and why.
TextTable unsupported_table(const std::vector<CaseValidation>& cases);

/// Recordings whose replay decides otherwise, where first, and what it makes of the peak.
TextTable replay_table(const std::vector<CaseValidation>& cases);

/// Median, 95th percentile, worst and bias of the four peaks, and of the memory outside the
/// allocator where the driver's figure was recorded. Where halves are marked, theirs follow apart.
std::vector<TextTable> error_tables(const std::vector<CaseValidation>& cases);

/// What the tables add up to, and where the simulation went another way; one line each.
std::vector<std::string> validation_notes(const std::vector<CaseValidation>& cases);

boost::json::object validation_json(const std::vector<CaseValidation>& cases);

}  // namespace highwater
