#include "tools/studies/runs/observed_run.hpp"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "sim/recordings/simulated_recording.hpp"
#include "sim/replay/trace_driver.hpp"
#include "tools/files/input.hpp"
#include "tools/studies/runs/trust_line.hpp"
#include "tools/studies/runs/workload.hpp"
#include "tools/studies/runs/workload_request.hpp"
#include "tools/text/progress_line.hpp"
#include "traces/error.hpp"

namespace highwater {
namespace {

bool is_as_recorded(const MemoryRequest& memory) {
  return !memory.alloc_conf && !memory.has_limit();
}

ObservedRun free_run(DeviceReplay replay, const ReplayOptions& options,
                     std::shared_ptr<const RequestTrace> trace, EventTimes times) {
  ObservedRun run;
  run.observe = [trace, options](StateObserver& observer) {
    replay_watched(*trace, options, observer);
  };
  run.replay = std::move(replay);
  run.trace = std::move(trace);
  run.times = std::move(times);
  return run;
}

std::vector<OlderBlockStack> older_blocks(const DerivedTrace& derived) {
  std::vector<OlderBlockStack> older;
  for (std::size_t i = 0; i < derived.initial_ids.size(); ++i) {
    if (derived.initial_ids[i].has_value()) {
      older.emplace_back(derived.initial_ids[i], derived.initial_stacks[i]);
    }
  }
  return older;
}

/// `file` keeps the recording alive that `device` is part of.
ObservedRun run_as_recorded(RecordedReplay recorded, const std::shared_ptr<const Recording>& file,
                            const RecordedDevice& device) {
  ObservedRun run;
  run.replay = std::move(recorded.replay);
  const auto derived = std::make_shared<const DerivedTrace>(std::move(recorded.derived));
  run.trace = {derived, &derived->requests};
  run.times = times_of(*run.trace, *derived, device);
  run.older = older_blocks(*derived);
  run.observe = [file, derived, &device, settings = run.replay.settings,
                 version = run.replay.version](StateObserver& observer) {
    replay_as_recorded(device, *derived, settings, *version, DecisionDetail::none, &observer);
  };
  return run;
}

ObservedRun recorded_run(const std::shared_ptr<const Recording>& file, const RecordedDevice& device,
                         const WorkloadRequest& request) {
  RecordedReplay recorded = replay_recorded(*file, device, *request.file, replay_request(request));
  if (is_as_recorded(request.memory)) {
    return run_as_recorded(std::move(recorded), file, device);
  }
  auto trace = std::make_shared<const RequestTrace>(recorded.requests());
  EventTimes times = times_of(*trace, recorded.derived, device);
  const ReplayOptions options = options_of(recorded.replay, AddressPolicy::never_reuse);
  return free_run(std::move(recorded.replay), options, std::move(trace), std::move(times));
}

ObservedRuns runs_of(Recording recording, const WorkloadRequest& request) {
  if (request.device) {
    std::erase_if(recording.devices,
                  [&](const RecordedDevice& device) { return device.index != *request.device; });
    std::erase_if(recording.annotations,
                  [&](const Annotation& range) { return range.device != *request.device; });
  }
  const auto file = std::make_shared<const Recording>(std::move(recording));
  ObservedRuns result;
  result.annotations = file->annotations;
  for (const RecordedDevice& device : file->devices) {
    result.runs.push_back(recorded_run(file, device, request));
  }
  if (is_as_recorded(request.memory)) {
    result.recording = file;
  }
  return result;
}

ObservedRuns runs_of(RequestTrace requests, const WorkloadRequest& request) {
  ObservedRuns result;
  if (request.device.value_or(0) == 0) {
    const auto trace = std::make_shared<const RequestTrace>(std::move(requests));
    DeviceReplay replay = replay_requests(*trace, *request.file, replay_request(request));
    const ReplayOptions options = options_of(replay, trace->header.addresses);
    result.runs.push_back(free_run(std::move(replay), options, trace, {}));
  }
  return result;
}

ObservedRuns file_runs(const WorkloadRequest& request) {
  try {
    TraceFile file = read_trace_file(*request.file, StackMode::keep, request.reading);
    const ProgressLine progress("replaying");
    return std::visit([&](auto& content) { return runs_of(std::move(content), request); }, file);
  } catch (const OperationError& error) {
    throw error.in(*request.file);
  }
}

/// Of a plan, or of a file that is edited first.
ObservedRuns free_runs(const WorkloadRequest& request) {
  ObservedRuns result;
  for (Workload& workload : read_workloads(request)) {
    result.trust = workload.trust();
    result.runs.push_back(
        free_run(std::move(workload.replay), workload.options, workload.trace, {}));
  }
  return result;
}

}  // namespace

ObservedRuns observe_runs(const WorkloadRequest& request) {
  if (!request.file || !request.edits.empty()) {
    return free_runs(request);
  }
  ObservedRuns result = file_runs(request);
  if (request.device && result.runs.empty()) {
    throw UsageError(fmt::format("--device {}: '{}' contains no data for this device",
                                 *request.device, *request.file));
  }
  result.trust = result.runs.empty() ? "" : trust_line(result.runs.front().replay);
  return result;
}

Recording record_runs(const ObservedRuns& runs) {
  Recording recording;
  recording.annotations = runs.annotations;
  for (const ObservedRun& run : runs.runs) {
    SimulatedRecorder recorder(*run.trace, run.times, run.replay.device);
    run.observe(recorder);
    recording.devices.push_back(recorder.take_device(run.replay.result.map));
    std::ranges::move(recorder.take_annotations(), std::back_inserter(recording.annotations));
    recording.settings = recorded_settings(run.replay.settings);
    recording.writer = writer_of(*run.replay.version);
    recording.tables = run.trace->tables;
  }
  return recording;
}

}  // namespace highwater
