// --for memory: the least capacity with which the plan runs.
#include <cmath>
#include <string>

#include "tools/studies/solving/field_solvers.hpp"
#include "tools/studies/solving/number_solver.hpp"

namespace highwater {
namespace {

SolveState with_capacity(SolveState state, Bytes capacity) {
  state.memory.capacity = capacity;
  return state;
}

/// The multiple of the step of which the peak leaves the margin.
Bytes capacity_for(Bytes peak, double margin) {
  const double least = static_cast<double>(peak.count()) / (1 - margin);
  const auto steps =
      static_cast<std::uint64_t>(std::ceil(least / static_cast<double>(kMemoryStep.count())));
  return Bytes{steps * kMemoryStep.count()};
}

}  // namespace

FieldSolution solve_memory(const SolveField& field, const FieldQuestion& question) {
  const PlanOutcome whole = question.trials->unlimited(question.state);
  if (!whole.refusal.empty() || !whole.fits) {
    return {{.field = &field, .step = kMemoryStep, .trials = {{MetricValue(), whole}}},
            question.state};
  }
  const Bytes most = capacity_for(whole.peak, question.state.margin);
  const auto capacity = [=](std::int64_t position) {
    return Bytes{most.count() - static_cast<std::uint64_t>(position - 1) * kMemoryStep.count()};
  };
  NumberAnswer answer = solve_number(
      field, {.step = kMemoryStep,
              .value = [=](std::int64_t position) -> MetricValue { return capacity(position); },
              .outcome =
                  [&](std::int64_t position) {
                    return question.trials->of(with_capacity(question.state, capacity(position)));
                  },
              .limit = static_cast<std::int64_t>(most.count() / kMemoryStep.count())});
  return {std::move(answer.solved), answer.position
                                        ? with_capacity(question.state, capacity(*answer.position))
                                        : question.state};
}

}  // namespace highwater
