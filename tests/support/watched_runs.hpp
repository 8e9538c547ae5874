// One question about a replay each, answered by what the commands use.
#pragma once

#include <optional>

#include "sim/steps/watched_run.hpp"

namespace highwater::test {

inline MemoryGrowth growth_of(const RequestTrace& trace, const ReplayOptions& options) {
  return watch_run(trace, options, find_steps(trace)).growth;
}

/// At the moment right after event `moment`; absent: at the highest reserved.
inline FragmentationBlame blame_of(const RequestTrace& trace, const ReplayOptions& options,
                                   std::optional<std::size_t> moment = std::nullopt) {
  FragmentationBlame blame = watch_run(trace, options, {}).blame;
  look_at_moment(trace, options, moment.value_or(blame.moment), blame);
  return blame;
}

}  // namespace highwater::test
