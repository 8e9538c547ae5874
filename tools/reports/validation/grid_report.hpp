// The report of a grid: closed forms, simulation and measurements side by side.
#pragma once

#include <string>
#include <vector>

#include "tools/studies/validation/grid_run.hpp"
#include "tools/studies/validation/grid_summary.hpp"
#include "tools/text/report.hpp"

namespace highwater {

std::string grid_report(const GridRun& run, OutputFormat format);

void add_grid_json(const GridRun& run, const std::vector<FormSummary>& forms, Report& report);

/// What stands behind the figures, one line.
std::string grid_trust_line(const GridRun& run);

/// The command that shows a point alone, the form's difference taken apart.
std::string simulate_command_line(const GridPoint& point, const Formula& formula);

}  // namespace highwater
