// The report of `simulate --from run.hwp`: the peaks of a program of `highwater fit` at values of
// its integers, and how far they are to be believed.
#pragma once

#include <optional>
#include <string>

#include "tools/studies/gate/budget.hpp"
#include "tools/studies/scaling/scaled_run.hpp"
#include "tools/text/output_format.hpp"

namespace highwater {

std::string scaled_report(const ScaledRun& run, const std::optional<BudgetVerdict>& budget,
                          OutputFormat format);

}  // namespace highwater
