#include "tools/studies/solving/number_solver.hpp"

#include <algorithm>
#include <string>

namespace highwater {
namespace {

/// The trial of a position, which is tried once.
std::optional<std::size_t> trial_of(const ValueSearch& search,
                                    const std::optional<std::int64_t>& position) {
  const auto found = std::ranges::find(
      search.trials, position,
      [](const ValueTrial& trial) -> std::optional<std::int64_t> { return trial.value; });
  return found == search.trials.end()
             ? std::nullopt
             : std::optional(static_cast<std::size_t>(found - search.trials.begin()));
}

}  // namespace

NumberAnswer solve_number(const SolveField& field, const NumberScale& scale) {
  const ValueSearch search = find_value(
      [&](std::int64_t position) {
        const PlanOutcome outcome = scale.outcome(position);
        return ValueTrial{position, outcome.fits, outcome.peak, outcome.refusal};
      },
      scale.wanted, scale.limit);
  SolvedField solved{.field = &field, .step = scale.step};
  for (const ValueTrial& trial : search.trials) {
    solved.trials.push_back(
        {scale.value(trial.value), {trial.fits, trial.peak_reserved, trial.refusal}});
  }
  solved.best = trial_of(search, search.best);
  solved.next = trial_of(search, search.next);
  return {std::move(solved), search.best};
}

FieldSolution solve_option(const SolveField& field, const FieldQuestion& question,
                           std::int64_t step) {
  const auto changed = [&](std::int64_t position) {
    return with_options(question.state,
                        {{std::string(field.option), std::to_string(position * step)}});
  };
  NumberAnswer answer = solve_number(
      field, {.step = step,
              .value = [=](std::int64_t position) { return position * step; },
              .outcome = [&](std::int64_t at) { return question.trials->of(changed(at)); }});
  return {std::move(answer.solved), answer.position ? changed(*answer.position) : question.state};
}

}  // namespace highwater
