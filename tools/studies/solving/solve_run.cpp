#include "tools/studies/solving/solve_run.hpp"

#include <algorithm>

#include "tools/text/usage_errors.hpp"
#include "workloads/plan/training_plan.hpp"
#include "workloads/step_time/machine.hpp"

namespace highwater {
namespace {

/// Every value was refused, for the same reason: a mistake of the command line.
void require_possible(const SolvedField& solved) {
  const std::string& first = solved.trials.front().outcome.refusal;
  const auto is_same = [&](const FieldTrial& trial) { return trial.outcome.refusal == first; };
  if (!first.empty() && std::ranges::all_of(solved.trials, is_same)) {
    throw UsageErrors({first});
  }
}

bool is_timed(const SolveRequest& request) {
  return request.frontier || std::ranges::any_of(request.fields, [](const WantedField& wanted) {
           return wanted.field->is_timed;
         });
}

void note_assumed_rates(PlannedRun& run) {
  if (std::string note = timing::assumed_rates(run.plan.gpu); !note.empty()) {
    run.notes.push_back(std::move(note));
  }
}

}  // namespace

SolveResult solve_plan(const SolveRequest& request) {
  SolveResult result{.state = request.state};
  PlanTrials trials;
  for (const WantedField& wanted : request.fields) {
    FieldSolution solution =
        wanted.field->solve(*wanted.field, {result.state, wanted.step, &trials});
    if (!solution.solved.trials.empty()) {
      require_possible(solution.solved);
    }
    result.state = std::move(solution.state);
    result.fields.push_back(std::move(solution.solved));
    if (!result.fields.back().best) {
      break;
    }
  }
  result.run = {plan_of(result.state), find_word(result.state.words, "gpu") != nullptr};
  if (is_timed(request)) {
    note_assumed_rates(result.run);
  }
  result.room = room_of(result.state, result.run);
  if (request.frontier) {
    result.frontier = find_frontier(result.state, *request.frontier, trials);
  }
  return result;
}

}  // namespace highwater
