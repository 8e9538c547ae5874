// The options of private pools, as a recording notes or shows them.
//
// no_split shows where a block is larger than its request by so much that it would have been split:
// in the final segments, or because a request of the same pool and stream that its rest would have
// served took a new segment. use_on_oom shows nowhere: only `highwater record` notes it.
#pragma once

#include <map>

#include "allocator/settings/settings.hpp"
#include "sim/recordings/allocator_calls.hpp"
#include "traces/recording.hpp"

namespace highwater {

/// Those of pools whose options are not the defaults.
std::map<PoolId, PoolOptions> pool_options(const RecordedDevice& device,
                                           const AllocatorCalls& calls, const Settings& settings);

}  // namespace highwater
