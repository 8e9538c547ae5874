// The report of `simulate`: the answer first, then peaks, what they are made of, and who holds it.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <boost/json/fwd.hpp>

#include "tools/engine/engine_comparison.hpp"
#include "tools/studies/estimates/compared_estimates.hpp"
#include "tools/studies/gate/budget.hpp"
#include "tools/studies/plan_search/remedies.hpp"
#include "tools/studies/runs/rank_peaks.hpp"
#include "tools/studies/runs/run_ahead.hpp"
#include "tools/studies/runs/simulate_run.hpp"
#include "tools/studies/runs/spellings.hpp"
#include "tools/text/metrics.hpp"
#include "tools/text/output_format.hpp"

namespace highwater {

/// The same files by the defaults of earlier releases.
struct EarlierVerdict {
  std::string releases;  ///< "trl before 0.19"
  Simulation simulation;
};

struct SimulationReport {
  Simulation simulation;  ///< of the worst rank
  std::string assumed;    ///< what nobody said and most scripts say otherwise; empty: nothing
  std::optional<EarlierVerdict> earlier;
  std::vector<SpelledRun> spellings;  ///< the same loop written otherwise
  std::optional<LateRun> late;        ///< the same on a GPU that does not keep up
  RankPeaks ranks;
  std::optional<ValueSearch> batches;  ///< --find-batch
  EstimateComparison estimates;
  std::vector<const Formula*> reconciled;  ///< closed forms whose difference is shown part by part
  std::vector<const Gpu*> gpus;            ///< those that hold it, smallest memory first
  std::optional<Remedies> remedies;        ///< where it does not fit
  std::vector<Remedy> wider;               ///< where the margin is thin
  std::optional<BudgetVerdict> budget;     ///< where one was given
  std::shared_ptr<const EngineComparison> engines;  ///< --engine both
  bool shows_estimates = false;                     ///< in tables; JSON has them always
};

/// One object: the keys of a device of `replay` at top level and what a plan adds.
boost::json::object simulation_json(const SimulationReport& report);

/// The schema of it.
boost::json::object simulation_schema();

/// Every number under its JSON key, lists numbered: what CSV shows.
MetricList simulation_metrics(const SimulationReport& report);

std::string simulation_report(const SimulationReport& simulated, OutputFormat format);

}  // namespace highwater
