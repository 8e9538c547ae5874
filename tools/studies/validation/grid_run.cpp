#include "tools/studies/validation/grid_run.hpp"

#include <algorithm>
#include <utility>

#include "tools/studies/estimates/compared_estimates.hpp"
#include "tools/studies/estimates/error_summary.hpp"
#include "tools/studies/runs/result_codecs.hpp"
#include "tools/studies/runs/simulate_run.hpp"

namespace highwater {
namespace {

GridEstimate reduce(const ComparedEstimate& compared) {
  return {compared.outcome.formula,     compared.bytes(), compared.peak,
          compared.error().value_or(0), compared.covered, compared.error_of_covered()};
}

/// What a point comes to, without the point.
struct GridFigures {
  Bytes allocated;
  Bytes reserved;
  Bytes process;
  std::vector<GridEstimate> estimates;
  std::vector<GridRefusal> refused;
};

/// A simulation holds every block of its peak; of hundreds of them only figures are kept.
GridFigures run_point(const GridPoint& point) {
  PlannedRun run = point.run;
  run.gpu_named = false;  // its memory is no limit
  const Simulation simulation = simulate(run, {});
  const EstimateComparison comparison = compare_estimates(simulation);
  GridFigures figures{.allocated = simulation.replay.result.peak.allocated,
                      .reserved = simulation.replay.result.peak.reserved,
                      .process = simulation.parts.total()};
  for (const ComparedEstimate& compared : comparison.compared) {
    figures.estimates.push_back(reduce(compared));
  }
  for (const FormulaOutcome& outcome : comparison.refused) {
    figures.refused.push_back({outcome.formula, outcome.refusal});
  }
  return figures;
}

GridResult result_of(const GridPoint& point, GridFigures&& figures) {
  return {.point = point,
          .allocated = figures.allocated,
          .reserved = figures.reserved,
          .process = figures.process,
          .estimates = std::move(figures.estimates),
          .refused = std::move(figures.refused)};
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

GridRun run_grid(GridPlans plans, Fleet& fleet) {
  GridRun run{.results = {}, .skipped = std::move(plans.skipped)};
  fleet.stream(
      "plans", plans.points.size(), [&](PieceNumber i) { return run_point(plans.points[i]); },
      [&](PieceNumber i, GridFigures&& figures) {
        run.results.push_back(result_of(plans.points[i], std::move(figures)));
      });
  return run;
}

}  // namespace highwater
