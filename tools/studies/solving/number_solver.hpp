// A field whose value is a whole number: a search over multiples of a step.
#pragma once

#include <functional>

#include "tools/studies/runs/value_search.hpp"
#include "tools/studies/solving/solve_field.hpp"

namespace highwater {

/// The values of a field by position, from 1 on.
struct NumberScale {
  MetricValue step;
  std::function<MetricValue(std::int64_t)> value;
  std::function<PlanOutcome(std::int64_t)> outcome;
  WantedValue wanted = WantedValue::largest;
  std::int64_t limit = kLargestValueTried;  ///< the last position
};

struct NumberAnswer {
  SolvedField solved;
  std::optional<std::int64_t> position;  ///< of the answer
};

NumberAnswer solve_number(const SolveField& field, const NumberScale& scale);

/// The largest multiple of `step` for the field's option.
FieldSolution solve_option(const SolveField& field, const FieldQuestion& question,
                           std::int64_t step);

}  // namespace highwater
