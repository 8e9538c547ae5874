// What export writes: a run on one device that can be watched repeatedly.
//
// A recording under its own settings is watched as it was recorded, from the state before its first
// entry on; anything else is a free replay of requests.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "sim/peak/operation_rows.hpp"
#include "sim/recordings/event_times.hpp"
#include "sim/replay/replay.hpp"
#include "tools/studies/runs/replay_run.hpp"
#include "traces/recording.hpp"

namespace highwater {

struct WorkloadRequest;

struct ObservedRun {
  DeviceReplay replay;
  std::shared_ptr<const RequestTrace> trace;  ///< whose events an observer sees
  EventTimes times;                           ///< of the events of `trace`
  std::vector<OlderBlockStack> older;         ///< blocks that are there before the first event
  std::function<void(StateObserver&)> observe;
};

/// All runs of one file, or the one of a plan.
struct ObservedRuns {
  std::vector<ObservedRun> runs;  ///< by device
  /// The recording, if that is what the runs are, as recorded and of all its devices.
  std::shared_ptr<const Recording> recording;
  std::vector<Annotation> annotations;  ///< of the recording, whatever it runs under
  std::string trust;                    ///< of the first run; empty without any
};

/// @throws InputError, UsageError
ObservedRuns observe_runs(const WorkloadRequest& request);

/// The simulated history and final state of all runs as one recording.
Recording record_runs(const ObservedRuns& runs);

}  // namespace highwater
