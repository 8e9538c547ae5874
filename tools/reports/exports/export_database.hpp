// `export --to sqlite`: a run as an SQLite database, for questions of the user's own:
//
//   operations(device, n, action, id, bytes, stream, address, reserved, allocated, active,
//              requested, step, phase, stack_id)
//   stacks(stack_id, device, site, depth)
//   frames(stack_id, place, function, file, line)
//
// `operations` has the columns of `--to csv`, with the stack in place of its site; `depth` counts
// the frames of a stack, of which place 0 is the innermost.
#pragma once

#include "tools/studies/runs/observed_run.hpp"
#include "traces/formats/bytes/byte_sink.hpp"

namespace highwater {

/// Writes and commits.
void write_operations_database(const ObservedRuns& runs, ByteSink& sink);

}  // namespace highwater
