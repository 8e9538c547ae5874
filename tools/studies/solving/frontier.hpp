// What recomputation buys: a plan's peak memory against its time under every checkpoint policy, and
// with several batches where that is asked for.
//
// Memory is simulated. Time is the model's of a step (workloads/step_time), per sequence, against
// the plan's own batch without recomputation: of the same batch that is what is computed again.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "tools/studies/solving/solve_state.hpp"

namespace highwater {

enum class FrontierAxes : std::uint8_t { checkpoint, checkpoint_and_batch };

struct FrontierRow {
  std::string checkpoint;
  std::int64_t batch = 1;
  double recomputation = 0;  ///< share of the step's time without any, at this batch
  double time = 0;           ///< per sequence, more than the plan's own batch without recomputation
  Bytes peak;                ///< reserved; of unlimited memory where it does not fit
  bool fits = true;          ///< in the memory given, if any is
  bool is_efficient = false;  ///< of those that fit none takes less of one and no more of the other
};

struct Frontier {
  FrontierAxes axes = FrontierAxes::checkpoint;
  std::int64_t batch = 1;  ///< the plan's own
  std::optional<Bytes> available;
  std::vector<FrontierRow> rows;  ///< the fastest first
};

/// @pre the plan of `state` can run
Frontier find_frontier(const SolveState& state, FrontierAxes axes, PlanTrials& trials);

/// Marks the rows that no other row that fits beats.
void mark_efficient(std::vector<FrontierRow>& rows);

}  // namespace highwater
