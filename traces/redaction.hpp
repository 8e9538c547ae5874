// Removes from a trace whatever identifies its owner, and keeps whatever shows how it used memory.
//
// Replaced by numbered names: file names and paths, function names, names of allocations, phases,
// operators and annotations. Shifted: all times, so that the first is a fixed moment. Removed: keys
// and actions of the file that this program does not know, and the plan that was seen. Kept: sizes,
// addresses, streams, pools, the order and distance in time of everything, settings, line numbers,
// and which stacks and frames are the same. Anyone who knows the program can still recognise it by
// its sizes.
#pragma once

#include <cstdint>

#include "traces/recording.hpp"
#include "traces/request_trace.hpp"

namespace highwater {

enum class TorchFrames : std::uint8_t {
  replaced,
  kept,  ///< of files below torch/, and C++ functions of torch, c10 and at; without their folder
};

void redact(Recording& recording, TorchFrames torch_frames);
void redact(RequestTrace& trace, TorchFrames torch_frames);

}  // namespace highwater
