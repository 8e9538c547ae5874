// The curve that PyTorch's own viewer draws of a recording as "Active Memory Timeline".
//
// It adds up the sizes of trace entries, which are those that the program requested, and takes a
// block out at its free_completed. A block older than the first entry counts from the start: at the
// size of its free, if that was recorded, or else at its requested size, if it is in use at the end
// (one that then waits for another stream is left out). Pages that torch 2.1 or newer writes load
// the newest MemoryViz.js; the page of torch 2.0 leaves out what is in use at the end.
// Source: annotate_snapshot() and process_alloc_data() of torch/utils/viz/MemoryViz.js, alike since
// torch 2.1, and trace_plot() of torch/cuda/_memory_viz.py in 2.0. The sum and not the picture: the
// axis of the picture ignores blocks beyond the 15,000 largest (its "Detail").
#pragma once

#include <cstdint>

#include "traces/recording.hpp"

namespace highwater {

struct ViewerCurve {
  Bytes peak;
  std::uint64_t entries_to_peak = 0;  ///< entries until the peak is first reached; 0: at the start
  std::uint64_t older_blocks = 0;     ///< drawn from the start
  Bytes older;                        ///< their bytes
  Bytes older_in_use;                 ///< of these, of the blocks that are in use at the end
  Bytes left_out;                     ///< older, and waiting for another stream at the end
};

ViewerCurve viewer_curve(const RecordedDevice& device);

}  // namespace highwater
