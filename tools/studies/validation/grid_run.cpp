#include "tools/studies/validation/grid_run.hpp"

#include <algorithm>
#include <mutex>
#include <utility>

#include "sim/replay/parallel.hpp"
#include "tools/studies/compared_estimates.hpp"
#include "tools/studies/error_summary.hpp"

namespace highwater {
namespace {

GridEstimate reduce(const ComparedEstimate& compared) {
  return {compared.outcome.formula,     compared.bytes(), compared.peak,
          compared.error().value_or(0), compared.covered, compared.error_of_covered()};
}

/// A simulation holds every block of its peak; of hundreds of them only figures are kept.
GridResult run_point(GridPoint point) {
  PlannedRun run = point.run;
  run.gpu_named = false;  // its memory is no limit
  const Simulation simulation = simulate(run, {});
  const EstimateComparison comparison = compare_estimates(simulation);
  GridResult result;
  result.point = std::move(point);
  result.allocated = simulation.replay.result.peak.allocated;
  result.reserved = simulation.replay.result.peak.reserved;
  result.process = simulation.parts.total();
  for (const ComparedEstimate& compared : comparison.compared) {
    result.estimates.push_back(reduce(compared));
  }
  for (const FormulaOutcome& outcome : comparison.refused) {
    result.refused.push_back({outcome.formula, outcome.refusal});
  }
  return result;
}

}  // namespace

Bytes GridResult::simulated(MeasuredFigure figure) const {
  switch (figure) {
    case MeasuredFigure::allocated:
      return allocated;
    case MeasuredFigure::reserved:
      return reserved;
    case MeasuredFigure::process:
      break;
  }
  return process;
}

std::optional<double> GridResult::error_of_simulation() const {
  if (!point.measured) {
    return std::nullopt;
  }
  const auto bytes = static_cast<double>(simulated(point.measured->figure).count());
  return relative_error(bytes, point.measured->bytes);
}

std::optional<double> GridResult::error_of(const GridEstimate& estimate) const {
  return point.measured ? std::optional(relative_error(estimate.bytes, point.measured->bytes))
                        : std::nullopt;
}

const GridEstimate* GridResult::find(const Formula& formula) const {
  const auto found = std::ranges::find(estimates, &formula, &GridEstimate::formula);
  return found == estimates.end() ? nullptr : &*found;
}

GridRun run_grid(GridPlans plans, const std::function<void(std::size_t)>& progress) {
  GridRun run{.results = std::vector<GridResult>(plans.points.size()),
              .skipped = std::move(plans.skipped)};
  std::size_t done = 0;
  std::mutex progress_lock;
  for_each_index(plans.points.size(), [&](std::size_t i) {
    run.results[i] = run_point(std::move(plans.points[i]));
    const std::lock_guard lock(progress_lock);
    progress(++done);
  });
  return run;
}

}  // namespace highwater
