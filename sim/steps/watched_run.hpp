// What one replay of a run shows of its memory, so that each question does not take a replay.
#pragma once

#include "sim/peak/fragmentation_blame.hpp"
#include "sim/replay/replay.hpp"
#include "sim/steps/memory_growth.hpp"
#include "sim/steps/training_steps.hpp"

namespace highwater {

struct WatchedRun {
  ReplayBar bar;
  MemoryGrowth growth;
  /// Of the whole run. Its moment is the peak of reserved, at which nothing was looked: see
  /// look_at_moment().
  FragmentationBlame blame;
};

/// Replays `trace` (the observer and the listener of `options` are replaced). `steps` are as
/// find_steps() returns them. @throws InputError as replay() does, and when the byte-operations of
/// the blame do not fit into 64 bits.
WatchedRun watch_run(const RequestTrace& trace, ReplayOptions options, const Steps& steps);

}  // namespace highwater
