#include "tools/studies/solving/solve_run.hpp"

#include <algorithm>

#include "tools/text/usage_errors.hpp"

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
  result.room = room_of(result.state, result.run);
  if (request.frontier) {
    result.frontier = find_frontier(result.state, *request.frontier, trials);
  }
  return result;
}

}  // namespace highwater
