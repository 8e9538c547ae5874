// What no smaller batch and no shorter sequence saves: parameters, gradients and optimizer states
// of a model that each GPU holds whole.
#pragma once

#include <optional>

#include "tools/studies/plan_search/strategy_search.hpp"

namespace highwater {

struct WholeStates {
  Bytes states;    ///< of the whole model, as the plan trains it
  Bytes capacity;  ///< what the allocator can have of one GPU
};

/// Absent unless the whole model was tried on each GPU, fits with no batch, and has states that
/// alone are more than the allocator can have.
std::optional<WholeStates> states_above_a_gpu(const StrategySearch& search, MemoryRequest memory);

}  // namespace highwater
