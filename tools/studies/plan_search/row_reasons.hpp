// Why a row is not higher: what it waits for more than the first, and what would be faster and does
// not fit.
#pragma once

#include <string>

#include "tools/studies/plan_search/strategy_search.hpp"

namespace highwater {

/// "longer by 12 % for recomputation, 4 % for pipeline bubble; batch 4 would be 6 % faster, but
/// does not fit". The shares are of the first row's time for a sequence.
std::string why_not_higher(const StrategyResult& row, const StrategyResult& first);

}  // namespace highwater
