// What no smaller batch and no shorter sequence saves: parameters, gradients and optimizer states
// of a model that each GPU holds whole.
#pragma once

#include <optional>

#include "tools/studies/plan_search/strategy_search.hpp"

namespace highwater {

struct WholeStates {
  Bytes states;    ///< of the whole model, with fp32 states
  Bytes capacity;  ///< what the allocator can have of one GPU
};

/// Of the model as full training keeps it. Absent unless the job has one GPU, none of its rows is
/// full training that fits, and the states alone are more than the allocator can have.
std::optional<WholeStates> states_above_a_gpu(const SearchRequest& request,
                                              const StrategySearch& search);

}  // namespace highwater
