// --for checkpoint: the least recomputation that fits. All that is cheaper was simulated and does
// not fit, so nothing is assumed of how memory goes with it.
#include "tools/studies/solving/checkpoint_policies.hpp"
#include "tools/studies/solving/field_solvers.hpp"

namespace highwater {

FieldSolution solve_checkpoint(const SolveField& field, const FieldQuestion& question) {
  FieldSolution solution{{.field = &field}, question.state};
  SolvedField& solved = solution.solved;
  for (const CheckpointPolicy& policy : checkpoint_policies(question.state)) {
    const SolveState state = with_policy(question.state, policy.word);
    solved.trials.push_back({policy.word, question.trials->of(state)});
    if (solved.trials.back().outcome.fits) {
      solved.best = solved.trials.size() - 1;
      solution.state = state;
      break;
    }
    solved.next = solved.trials.size() - 1;
  }
  return solution;
}

}  // namespace highwater
