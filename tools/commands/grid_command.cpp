#include "tools/commands/grid_command.hpp"

#include <algorithm>
#include <cmath>
#include <ostream>

#include "tools/reports/validation/grid_report.hpp"
#include "tools/studies/validation/grid_default.hpp"
#include "traces/error.hpp"
#include "traces/formats/bytes/byte_source.hpp"

namespace highwater {
namespace {

std::string source_name(const GridRequest& request) {
  if (!request.file) {
    return "the default grid";
  }
  return *request.file == "-" ? "standard input" : *request.file;
}

GridPlans read_plans(const GridRequest& request) {
  const std::string source = source_name(request);
  const std::string text =
      request.file ? read_text_file(*request.file) : std::string(default_grid());
  GridPlans plans = grid_plans(read_grid(text, source), source);
  if (request.only) {
    keep_matching(plans, *request.only);
  }
  if (plans.points.empty() && plans.skipped.empty()) {
    throw InputError(source, "", "no plan matches '" + request.only.value_or("") + "'",
                     "use options of a plan, e.g. 'model=gpt2 batch=4'");
  }
  if (plans.points.empty()) {
    throw InputError(
        source, plans.skipped.front().label,
        "no plan of the grid can be simulated: " + plans.skipped.front().reasons.front(),
        "fix the plans, or see 'highwater simulate --help' for what is supported");
  }
  return plans;
}

/// A limit that nothing can be held against is a mistake.
void check_limit(const GridRequest& request, const GridPlans& plans) {
  const auto is_measured = [](const GridPoint& point) { return point.measured.has_value(); };
  if (request.max_error && std::ranges::none_of(plans.points, is_measured)) {
    throw UsageError(
        "--max-error: the grid has no measured plans, and closed forms are not held to a limit; "
        "use cases with the field 'measured', or --recorded DIR");
  }
}

bool exceeds(const GridRun& run, double limit) {
  return std::ranges::any_of(run.results, [&](const GridResult& result) {
    return std::abs(result.error_of_simulation().value_or(0)) > limit;
  });
}

}  // namespace

ExitCode validate_grid(const GridRequest& request, Fleet& fleet, std::ostream& out) {
  GridPlans plans = read_plans(request);
  check_limit(request, plans);
  const GridRun grid = run_grid(std::move(plans), fleet);
  fleet.end_of_pieces();
  out << grid_report(grid, request.format);
  return request.max_error && exceeds(grid, *request.max_error) ? ExitCode::exceeded : ExitCode::ok;
}

ExitCode print_default_grid(std::ostream& out) {
  out << default_grid();
  return ExitCode::ok;
}

}  // namespace highwater
