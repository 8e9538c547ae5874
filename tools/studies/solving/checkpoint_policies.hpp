// The ways in which a plan's activations can be kept or computed again, by what that costs.
//
// None, the outputs of operators that are kept (selective-op), core attention alone
// (selective-attention), every n-th block, and all blocks. Of the n that checkpoint as many blocks
// of the model (block i where i mod n = n - 1) the largest is taken. The cost is the model's of a
// step's time (workloads/step_time): what a step takes longer than one that computes nothing again.
#pragma once

#include <string>
#include <vector>

#include "tools/studies/solving/solve_state.hpp"

namespace highwater {

struct CheckpointPolicy {
  std::string word;          ///< of --checkpoint
  double recomputation = 0;  ///< share of the step's time without any
};

/// Those that the plan's rules and its program allow, the cheapest first.
std::vector<CheckpointPolicy> checkpoint_policies(const SolveState& state);

/// Options that set a policy.
SolveState with_policy(SolveState state, const std::string& policy);

}  // namespace highwater
