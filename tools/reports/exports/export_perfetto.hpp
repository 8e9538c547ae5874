// `export --to perfetto`: a run as a Chrome trace, which ui.perfetto.dev and chrome://tracing open.
//
// One process per device with the counters, the steps, phases and operators, and what went wrong;
// one more with the life of every segment, each on a lane of its own while it lives. The time is
// the recorded one, or a microsecond per event of the trace where none was recorded. Large runs
// are thinned, so that viewers can load them: counters keep every extreme
// (sim/peak/replay_history), of slices the weightiest stay, and the file says what was left out.
// Source: Trace Event Format (Google, "Trace Event Format", the JSON Object Format).
#pragma once

#include "tools/studies/runs/observed_run.hpp"
#include "traces/formats/bytes/byte_sink.hpp"

namespace highwater {

/// Writes and commits.
void write_chrome_trace(const ObservedRuns& runs, ByteSink& sink);

}  // namespace highwater
