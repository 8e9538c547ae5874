// The peak of a trace in which rounds that repeat are written once (traces/compact_trace.hpp).
//
// The same peak as of the trace written out: a round is carried out again until the allocator is in
// a state in which it was some rounds before, with the live allocations in the same places. From
// there on so many rounds leave everything as it is (state_image.hpp), and as they do not call the
// device, no peak of reserved memory lies in them that was not reached before; only what remains of
// the last such stretch is carried out. So it is with whole steps (repeated_step.hpp).
#pragma once

#include "sim/replay/live_categories.hpp"
#include "sim/replay/replay.hpp"
#include "traces/compact_trace.hpp"

namespace highwater {

/// As bar_of(replay()) of the trace written out. Observers and listeners see nothing.
/// @throws InputError as replay
ReplayBar replay_compact(const CompactTrace& compact, const ReplayOptions& options);

/// All peaks of the trace written out.
struct CompactPeaks {
  Usage peak;             ///< each at its own moment
  CategoryBytes at_peak;  ///< at the first moment of peak.allocated
  bool ran_out = false;
};

/// As replay() with a PhasePeakTracker finds them for the whole run. @throws InputError as replay
CompactPeaks replay_compact_peaks(const CompactTrace& compact, const ReplayOptions& options);

}  // namespace highwater
