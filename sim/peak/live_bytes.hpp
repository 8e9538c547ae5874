// Who holds the memory at one moment of a replay: live requested bytes by call stack.
//
// Unlike live_blocks, which looks at requests alone, this watches a replay: requests that failed
// under its settings never live, and blocks older than a recording count from the start.
#pragma once

#include <cstdint>
#include <optional>
#include <variant>
#include <vector>

#include "sim/peak/live_blocks.hpp"
#include "sim/peak/operation_rows.hpp"
#include "sim/replay/state_observer.hpp"

namespace highwater {

enum class LiveExtreme : std::uint8_t { peak, end };

/// Which moment is wanted: the first of the highest live bytes, the end, or the state after the
/// operation of a number. A block lives from its allocation until its free is requested.
using LiveChoice = std::variant<LiveExtreme, std::uint64_t>;

/// Calls `observe`, which replays `trace` with the observer it is given; twice for a peak. Absent
/// if the replay has no operation of that number.
std::optional<LiveMemory> live_bytes_at(const RequestTrace& trace,
                                        const std::vector<OlderBlockStack>& older,
                                        const LiveChoice& choice, const WatchedReplay& observe);

}  // namespace highwater
