// A run with more steps than its requests have: the last complete step again and again.
//
// That is the one before the last, since a recording may end within its last step. What it frees
// of the step before becomes, in its repetition, what the last step frees of it.
#pragma once

#include <cstdint>

#include "traces/request_trace.hpp"

namespace highwater {

/// How many steps `trace` has.
std::uint64_t count_steps(const RequestTrace& trace);

/// `trace` with `steps` of them. @throws UsageError where it has fewer than three, or as many
/// already, or where the last two differ, so that none of them can be repeated
RequestTrace with_more_steps(const RequestTrace& trace, std::uint64_t steps);

}  // namespace highwater
