// Closed forms beside a simulation as text and as JSON: the part of `simulate` that they fill.
#pragma once

#include "tools/studies/estimates/compared_estimates.hpp"
#include "tools/text/metrics.hpp"

namespace highwater {

/// Forms beside the simulated peak, those that apply.
Table comparison_table(const EstimateComparison& comparison);

/// One form reconciled with the simulation, line by line with the largest details, drawn as bars.
Table reconciliation_table(const ComparedEstimate& compared);

}  // namespace highwater
