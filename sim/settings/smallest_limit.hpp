// The least memory with which a run survives, found by replays.
#pragma once

#include <optional>

#include "sim/replay/replay.hpp"
#include "traces/request_trace.hpp"

namespace highwater {

/// `options` with that much memory (absent: unlimited), as the device's capacity, or as the limit
/// of the process where they have one. The two differ: a limit is
/// checked against whole segments, and garbage is collected only under one.
ReplayOptions with_memory(ReplayOptions options, std::optional<Bytes> memory);

/// The smallest amount of memory, to within `step`, above `refused` with which `trace` is replayed
/// without running out of memory as far as `options.last_event` says. The amount returned was
/// replayed and survived; `refused` is assumed not to suffice. More memory is assumed never to
/// hurt, which holds except when a cache happens to be flushed at a lucky moment.
///
/// The memory is bounded as with_memory() does. Absent when even unlimited memory fails
/// (a request too large for any device).
std::optional<Bytes> smallest_limit(const RequestTrace& trace, const ReplayOptions& options,
                                    Bytes refused, Bytes step = Bytes{2 << 20});

}  // namespace highwater
