// The report of `validate --recorded`: one line per case, the worst first, and the summary.
#pragma once

#include <string>
#include <vector>

#include "tools/studies/validation/validate_run.hpp"
#include "tools/text/output_format.hpp"
#include "tools/text/table.hpp"

namespace highwater {

std::string validation_report(const std::vector<CaseValidation>& cases, OutputFormat format);

/// Recordings whose replay decides otherwise, where first, and what it makes of the peak.
Table replay_table(const std::vector<CaseValidation>& cases);

}  // namespace highwater
