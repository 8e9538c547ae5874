// `export --to speedscope`: live and allocated bytes by call stack for speedscope.app, a profile
// for each, of each device. Source: speedscope's file format
// (www.speedscope.app/file-format-schema.json), sampled profiles.
#pragma once

#include "sim/peak/live_bytes.hpp"
#include "tools/studies/runs/observed_run.hpp"
#include "traces/formats/bytes/byte_sink.hpp"

namespace highwater {

/// Writes and commits. Returns the live bytes.
/// @throws UsageError for an operation that a run does not have
Bytes write_speedscope(const ObservedRuns& runs, const LiveChoice& moment, ByteSink& sink);

}  // namespace highwater
