// `export --to pprof`: live and allocated memory by call stack as a profile of pprof, whose sample
// types are those of a heap profile of Go: alloc_objects, alloc_space, inuse_objects, inuse_space.
// Source: google/pprof, proto/profile.proto and doc/README.md.
#pragma once

#include "sim/peak/live_bytes.hpp"
#include "tools/studies/runs/observed_run.hpp"
#include "traces/formats/bytes/byte_sink.hpp"

namespace highwater {

/// Writes and commits. Samples of several runs have the device as a label. Returns the live bytes.
/// @throws UsageError for an operation that a run does not have
Bytes write_pprof(const ObservedRuns& runs, const LiveChoice& moment, ByteSink& sink);

}  // namespace highwater
