// The part of `validate` that runs a grid of plans.
#pragma once

#include <iosfwd>
#include <optional>
#include <string>

#include "tools/fleet/fleet.hpp"
#include "tools/options/command_line.hpp"

namespace highwater {

struct GridRequest {
  std::optional<std::string> file;  ///< "-": standard input; absent: the default grid
  std::optional<std::string> only;  ///< patterns of labels (name_pattern.hpp)
  std::optional<double> max_error;  ///< of the simulation against measurements, as a fraction
  OutputFormat format = OutputFormat::table;
};

/// Runs the grid and writes its report. `exceeded` when the simulation misses a measurement by more
/// than max_error.
/// @throws InputError; UsageError for a max_error without measurements
ExitCode validate_grid(const GridRequest& request, Fleet& fleet, std::ostream& out);

/// Writes the default grid as a file that runs it.
ExitCode print_default_grid(std::ostream& out);

}  // namespace highwater
