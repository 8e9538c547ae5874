#include "tools/studies/chance/ensemble_run.hpp"

#include <optional>
#include <string>
#include <utility>

#include "traces/error.hpp"

namespace highwater {
namespace {

/// A run, or why the plan cannot have it: the cases that follow are studied all the same, so this
/// is a result.
struct RunOutcome {
  CountedRun run;
  std::optional<std::string> problem;
};

RunOutcome outcome_of(PieceSource& source, const EnsembleOptions& options, PieceNumber number) {
  try {
    return {carry_out_run(source, options, number), std::nullopt};
  } catch (const UsageError& error) {
    return {{}, error.what()};
  }
}

void add(RunOutcome&& outcome, Ensemble& ensemble, std::optional<std::string>& problem) {
  if (outcome.problem) {
    problem = problem ? problem : outcome.problem;
    return;
  }
  if (outcome.run.run.highest.size() != ensemble.marks.size() ||
      outcome.run.run.reserved.size() != ensemble.marks.size()) {
    PieceReader::fail();
  }
  ensemble.requests += outcome.run.requests;
  ensemble.runs.push_back(std::move(outcome.run.run));
}

}  // namespace

Ensemble run_ensemble(PieceSource& source, const EnsembleOptions& options, Fleet& fleet,
                      std::string_view what) {
  Ensemble ensemble;
  ensemble.marks = marks_of(options.steps);
  std::optional<std::string> problem;
  fleet.stream(
      what, options.runs, [&](PieceNumber number) { return outcome_of(source, options, number); },
      [&](PieceNumber /*number*/, RunOutcome&& outcome) {
        add(std::move(outcome), ensemble, problem);
      });
  if (problem) {
    throw UsageError(*problem);
  }
  ensemble.carried_out = ensemble.requests;
  return ensemble;
}

Ensemble run_ensemble(PieceSource& source, const EnsembleOptions& options) {
  Fleet threads;
  return run_ensemble(source, options, threads);
}

}  // namespace highwater
