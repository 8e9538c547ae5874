// `export --to csv` and `--to folded`: operations as rows, live bytes as folded stacks.
#pragma once

#include <string>

#include "sim/peak/live_bytes.hpp"
#include "tools/studies/runs/observed_run.hpp"
#include "traces/formats/bytes/byte_sink.hpp"

namespace highwater {

/// One row per operation of every run, with a header line. Sizes and curves in bytes, addresses in
/// hexadecimal; empty where the recording or the operation has nothing to say.
void write_operations_csv(const ObservedRuns& runs, ByteSink& sink);

/// "train.py:8 main;train.py:42 forward 4096": live requested bytes by call stack, outermost frame
/// first, one line per distinct stack in the order of the text: what flame graph tools read. Of
/// several runs each line begins with the device. Returns the bytes written down.
/// @throws UsageError for an operation that a run does not have
Bytes write_folded_stacks(const ObservedRuns& runs, const LiveChoice& moment, ByteSink& sink);

}  // namespace highwater
