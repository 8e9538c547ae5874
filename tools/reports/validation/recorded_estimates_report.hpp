// Closed forms against recorded truth, as `validate --recorded` shows them.
#pragma once

#include <vector>

#include <boost/json/fwd.hpp>

#include "tools/studies/validation/validate_run.hpp"
#include "tools/text/table.hpp"

namespace highwater {

/// One row per form: its errors over all cases it applies to, and the simulation's over the same.
Table recorded_estimate_table(const std::vector<CaseValidation>& cases);

/// One case's forms.
boost::json::array recorded_estimates_json(const CaseValidation& validation);

}  // namespace highwater
