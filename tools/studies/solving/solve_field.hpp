// What `plan --for` solves for: the fields of a plan, a row each.
//
// An answer is a value that was simulated and fits. The next value, larger or smaller by one step
// as the field asks, was simulated too and does not fit, or there is no such plan. Where memory
// does not grow evenly with the value, one beyond the next may fit again, and no more is claimed.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "tools/studies/solving/solve_state.hpp"
#include "tools/text/cell.hpp"

namespace highwater {

/// The device hands out memory in pieces of 2 MiB (allocator_config.h kSmallBuffer, kRoundLarge:
/// all segments are multiples), so that no capacity in between differs from the one below.
inline constexpr Bytes kMemoryStep{2 << 20};

/// One value that was tried.
struct FieldTrial {
  MetricValue value;
  PlanOutcome outcome;
};

struct SolveField;

struct SolvedField {
  const SolveField* field = nullptr;
  MetricValue step;  ///< between values; blank for words
  std::vector<FieldTrial> trials;
  std::optional<std::size_t> best;  ///< of the trials: the answer
  std::optional<std::size_t> next;  ///< of those that do not fit the nearest
};

/// A field with the plan that its answer makes.
struct FieldSolution {
  SolvedField solved;
  SolveState state;  ///< as it was where there is no answer
};

struct FieldQuestion {
  SolveState state;
  std::optional<std::int64_t> step;  ///< as asked for
  PlanTrials* trials = nullptr;
};

struct SolveField {
  std::string_view name;    ///< of --for
  std::string_view option;  ///< whose value is looked for, so that nobody may give it
  std::string_view asks;    ///< "largest batch"
  bool takes_step = false;  ///< --for NAME:STEP
  bool is_timed = false;    ///< the answer is one of several, chosen by the model of a step's time
  FieldSolution (*solve)(const SolveField& field, const FieldQuestion& question);
};

std::span<const SolveField> solve_fields();

/// nullptr if there is none.
const SolveField* find_solve_field(std::string_view name);

/// Whether options say by which strategy a job runs: then the least number of GPUs is looked for
/// among its data-parallel ranks, otherwise over all strategies that `plan` knows.
bool names_strategy(const OptionWords& words);

}  // namespace highwater
