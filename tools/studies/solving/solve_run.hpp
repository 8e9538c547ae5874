// Solves a plan for one field after the other, and draws what recomputation buys.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "tools/studies/solving/frontier.hpp"
#include "tools/studies/solving/solve_field.hpp"

namespace highwater {

struct WantedField {
  const SolveField* field = nullptr;
  std::optional<std::int64_t> step;  ///< absent: the field's own
};

struct SolveRequest {
  SolveState state;                 ///< without the fields
  std::vector<WantedField> fields;  ///< each is solved with the answers of those before it
  std::optional<FrontierAxes> frontier;
};

struct SolveResult {
  std::vector<SolvedField> fields;  ///< up to the first without an answer
  SolveState state;                 ///< with all answers
  PlannedRun run;                   ///< the plan of `state`
  AllocatorRoom room;
  std::optional<Frontier> frontier;  ///< of that plan

  /// Every field has an answer.
  [[nodiscard]] bool is_solved() const { return fields.empty() || fields.back().best; }
};

/// @throws UsageErrors for a plan that is refused whatever the field's value
SolveResult solve_plan(const SolveRequest& request);

}  // namespace highwater
