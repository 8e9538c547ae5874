// Changed traces, on which counterfactuals are replayed.
//
// Each function changes one thing and keeps the rest, event by event; indices of events after an
// insertion shift accordingly.
#pragma once

#include <cstddef>
#include <span>

#include "traces/request_trace.hpp"

namespace highwater {

/// `freed` are given back right before event `event`; their own later frees do nothing.
RequestTrace with_frees_before(const RequestTrace& trace, std::size_t event,
                               std::span<const AllocationId> freed);

/// torch.cuda.empty_cache() right before event `event`.
RequestTrace with_empty_cache_before(const RequestTrace& trace, std::size_t event);

/// All requests come on one stream and none is used on another.
RequestTrace on_one_stream(const RequestTrace& trace);

/// No block is ever used on a second stream (no Tensor.record_stream), so every free completes at
/// once; each request keeps its own stream.
RequestTrace without_stream_uses(const RequestTrace& trace);

/// No private pools: everything goes to the default ones.
RequestTrace without_private_pools(const RequestTrace& trace);

}  // namespace highwater
