// The report of a grid: closed forms, simulation and measurements side by side.
#pragma once

#include <string>
#include <vector>

#include <boost/json/fwd.hpp>

#include "tools/studies/validation/grid_run.hpp"
#include "tools/text/metrics.hpp"
#include "tools/text/output_format.hpp"

namespace highwater {

/// One row per form: how far it is from the simulated peak that it claims to tell.
TextTable form_table(const GridRun& run);

/// Per form, the values of the axes on which it is furthest off, and its worst point.
TextTable break_table(const GridRun& run);

/// One row per measured point: the simulation and every form against what was measured.
TextTable measured_table(const GridRun& run);

/// Why forms say nothing about some of the plans, counted by form and reason.
TextTable refused_table(const GridRun& run);

/// Combinations that were left out, counted by reason.
TextTable skipped_table(const GridRun& run);

/// One row per point and form, all numbers exact.
TextTable point_table(const GridRun& run);

/// Tables for people, the trust line last.
std::string grid_text(const GridRun& run, OutputFormat format);

boost::json::object grid_json(const GridRun& run);

/// What stands behind the figures, one line.
std::string grid_trust_line(const GridRun& run);

/// The command that shows a point alone, the form's difference taken apart.
std::string simulate_command_line(const GridPoint& point, const Formula& formula);

}  // namespace highwater
