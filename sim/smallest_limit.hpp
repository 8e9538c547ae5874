// The least memory with which a run survives, found by replays.
#pragma once

#include <optional>

#include "sim/replay.hpp"
#include "traces/request_trace.hpp"

namespace highwater {

/// The smallest memory limit, to within `step`, above `refused` with which `trace` is replayed
/// without running out of memory as far as `options.last_event` says. The limit returned was
/// replayed and survived; `refused` is taken as one that does not. More memory is assumed never to
/// hurt, which holds but for the odd case of a cache that is flushed at a lucky moment.
///
/// Capacity and other limits of `options` are replaced. Absent when even unlimited memory fails
/// (a request too large for any device).
std::optional<Bytes> smallest_limit(const RequestTrace& trace, const ReplayOptions& options,
                                    Bytes refused, Bytes step = Bytes{2 << 20});

}  // namespace highwater
