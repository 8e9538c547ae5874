// A recording as requests alone, for replays under other settings than its own.
//
// Blocks older than the recording occupy memory throughout, but where they would lie under other
// settings is unknown, so they are allocated first.
#pragma once

#include <cstddef>
#include <vector>

#include "sim/recordings/derivation.hpp"
#include "traces/request_trace.hpp"

namespace highwater {

/// What happens to requests that ran out of memory in the recording.
enum class FailedRequests {
  kept,  ///< asked again, and freed at once if they succeed, as no later free was recorded
  left_out,
};

/// The requests with the initial blocks allocated first, in address order and in their private
/// pools: what can be replayed under other settings. `confirmed` lists the events
/// before which the fidelity replay found an empty_cache.
RequestTrace recorded_requests(const DerivedTrace& derived,
                               const std::vector<std::size_t>& confirmed,
                               FailedRequests failed = FailedRequests::kept);

/// The same; `derived` keeps what describes it and loses what has a part per event or allocation,
/// so that both never exist in full.
RequestTrace take_recorded_requests(DerivedTrace& derived,
                                    const std::vector<std::size_t>& confirmed,
                                    FailedRequests failed = FailedRequests::kept);

/// Whether recorded_requests() would copy `derived.requests` as it is.
bool are_recorded_requests(const DerivedTrace& derived, const std::vector<std::size_t>& confirmed);

/// The events at the front of recorded_requests() that allocate the initial blocks.
std::size_t older_block_events(const DerivedTrace& derived);

}  // namespace highwater
