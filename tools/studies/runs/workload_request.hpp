// How a command asks for the workloads that its question is about.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "tools/edits/edit_words.hpp"
#include "tools/files/input.hpp"
#include "tools/studies/runs/memory_request.hpp"
#include "tools/studies/runs/replay_run.hpp"
#include "tools/studies/runs/workload.hpp"

namespace highwater {

struct PlannedRun;

/// A file or a plan, device, version, settings, limits.
struct WorkloadRequest {
  std::optional<std::string> file;         ///< absent: the plan
  std::shared_ptr<const PlannedRun> plan;  ///< null: the file
  MemoryRequest memory;
  std::optional<int> device;
  std::optional<std::string> torch;  ///< by which a recording is followed
  /// The release whose allocator serves the requests instead of the recorded one.
  std::optional<std::string> served_by;
  const Gpu* gpu = nullptr;      ///< of a FILE: the GPU that it has to run on, if --gpu names one
  ReadingOptions reading;        ///< of a FILE
  std::vector<EditWords> edits;  ///< made to the requests, in this order
  DecisionDetail decisions = DecisionDetail::none;  ///< whether the replay keeps them
  bool timed = false;      ///< keep the times of events, also where `edits` do not need them
  bool watchable = false;  ///< keep what Workload::watch needs: of a recording all of it
};

/// The part of `request` that replaying a file needs.
ReplayRequest replay_request(const WorkloadRequest& request);

/// One workload per device that has anything, or the plan's worst rank.
/// @throws InputError, UsageError
std::vector<Workload> read_workloads(const WorkloadRequest& request);

/// The same for a file that was read with its stacks; `request.file` names it.
std::vector<Workload> workloads_of(TraceFile file, const WorkloadRequest& request);

/// The worst rank of a plan.
Workload workload_of(const PlannedRun& run, const MemoryRequest& memory);

/// The same as simulate_requests() leaves it: for replays, not for a report about the plan itself.
Workload workload_for_replays(const PlannedRun& run, const MemoryRequest& memory);

}  // namespace highwater
