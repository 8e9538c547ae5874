// Who holds the memory at one moment of a replay: live requested bytes by call stack.
//
// Unlike live_blocks, which looks at requests alone, this watches a replay: what failed under its
// settings never lives, and blocks older than a recording count from the start.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <utility>
#include <vector>

#include "sim/peak/operation_rows.hpp"
#include "sim/replay/state_observer.hpp"

namespace highwater {

/// A block lives from its allocation until its free is requested.
struct LiveBytes {
  std::uint64_t operation = 0;  ///< the state after it
  Bytes total;
  std::vector<std::pair<StackId, Bytes>> by_stack;  ///< by id, none last; their sum is `total`
};

/// Which moment is wanted: `peak` is the first of the highest live bytes.
struct LiveMoment {
  enum class Kind : std::uint8_t { peak, end, operation };
  Kind kind = Kind::peak;
  std::uint64_t operation = 0;
};

/// Calls `observe`, which replays `trace` with the observer it is given, twice for a peak. Nothing
/// when the replay has no operation of that number.
std::optional<LiveBytes> live_bytes_at(const RequestTrace& trace,
                                       const std::vector<OlderBlockStack>& older,
                                       const LiveMoment& moment,
                                       const std::function<void(StateObserver&)>& observe);

}  // namespace highwater
