// What a grid says of each closed form: how far off it is, and where it breaks.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "tools/studies/estimates/error_summary.hpp"
#include "tools/studies/validation/grid_run.hpp"

namespace highwater {

/// The axes on which the points differ, in the order of plan_words.
std::vector<std::string> varying_axes(const std::vector<GridResult>& results);

/// The point's word on that axis; empty where it has none.
std::string_view axis_word(const GridPoint& point, std::string_view axis);

/// The points with one value on one axis.
struct AxisValueError {
  std::string axis;
  std::string value;
  std::uint64_t points = 0;
  double median = 0;  ///< of the magnitudes of error
};

struct FormSummary {
  const Formula* formula = nullptr;
  std::uint64_t refused = 0;
  ErrorSummary error;     ///< against the simulated peak that the form claims to tell
  ErrorSummary covered;   ///< against the same parts of the simulation
  ErrorSummary measured;  ///< against what was measured
  /// The values with the largest medians, largest first, of two points at least and not of all;
  /// of values that the same points have, the first.
  std::vector<AxisValueError> breaks;
  const GridResult* worst = nullptr;  ///< nullptr where the form applies to no point
  double worst_error = 0;             ///< signed
};

/// All formulas, in their order. The summaries refer to `results`.
std::vector<FormSummary> summarise_forms(const std::vector<GridResult>& results);

/// The simulation against what was measured.
ErrorSummary summarise_simulation(const std::vector<GridResult>& results);

}  // namespace highwater
