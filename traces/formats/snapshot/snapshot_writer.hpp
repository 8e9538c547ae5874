// Writes recordings as PyTorch memory snapshots: what torch.cuda.memory._dump_snapshot writes.
//
// The keys are those of the release that the recording names (Recording::writer), so a reader finds
// the same release again; nothing that the reader of snapshots keeps is lost. Frames, stacks and
// strings are written once and shared, as Python shares them.
// Source: torch/csrc/cuda/Module.cpp, PyTorch 2.1 to 2.11.
#pragma once

#include "traces/formats/bytes/byte_sink.hpp"
#include "traces/recording.hpp"

namespace highwater {

/// Writes and commits. Two things of old files change: `history` lists of blocks (2.0 and older)
/// are written as the frames and addresses of later releases; entries with an unknown action keep
/// its name only if the file has just one such name, otherwise they become "user_defined".
void write_torch_snapshot(const Recording& recording, ByteSink& sink);

}  // namespace highwater
