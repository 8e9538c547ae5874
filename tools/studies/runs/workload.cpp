#include "tools/studies/runs/workload.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "sim/recordings/recorded_requests.hpp"
#include "sim/replay/phase_peaks.hpp"
#include "sim/replay/trace_driver.hpp"
#include "tools/edits/edit_of_words.hpp"
#include "tools/engine/engine.hpp"
#include "tools/files/input.hpp"
#include "tools/studies/runs/own_settings.hpp"
#include "tools/studies/runs/rank_peaks.hpp"
#include "tools/studies/runs/simulate_run.hpp"
#include "tools/studies/runs/trust_line.hpp"
#include "tools/studies/runs/workload_request.hpp"
#include "tools/text/progress_line.hpp"
#include "tools/text/safe_text.hpp"
#include "tools/text/site_label.hpp"
#include "traces/error.hpp"
#include "workloads/plan/options/option_table.hpp"
#include "workloads/plan/training_plan.hpp"
#include "workloads/training/outside_memory.hpp"

namespace highwater {
namespace {

Workload workload_of(RequestTrace trace, const std::string& name, const ReplayRequest& request) {
  Workload workload;
  workload.name = name;
  workload.replay = replay_requests(trace, name, request);
  workload.options = options_of(workload.replay, trace.header.addresses);
  workload.trace = std::make_shared<RequestTrace>(std::move(trace));
  return workload;
}

/// A recording keeps the limit that it shows, unless another is given.
void apply_recorded_limit(Workload& workload, const MemoryRequest& memory) {
  if (workload.limit && !memory.has_limit()) {
    bound_as_shown(*workload.limit, workload.options);
  }
}

/// The replay of a recording that follows it, to be carried out again.
std::function<void(StateObserver&)> following(std::shared_ptr<const Recording> recording,
                                              const RecordedDevice& device,
                                              std::shared_ptr<const DerivedTrace> derived,
                                              const DeviceReplay& replay) {
  return [keep = std::move(recording), &device, derived = std::move(derived),
          settings = replay.settings, version = replay.version](StateObserver& observer) {
    replay_as_recorded(device, *derived, settings, *version, DecisionDetail::none, &observer);
  };
}

/// A replay under the recorded settings follows the recording; others are free.
void make_watchable(Workload& workload, const std::shared_ptr<const Recording>& recording,
                    const RecordedDevice& device, std::shared_ptr<const DerivedTrace> derived) {
  if (!workload.replay.fidelity) {
    workload.times = operation_times(*workload.trace, *derived, device);
    return;
  }
  workload.times = operation_times(derived->requests, *derived, device);
  workload.watch = following(recording, device, std::move(derived), workload.replay);
}

/// Those derived where they are the same, since a copy takes as much memory as all else.
std::shared_ptr<const RequestTrace> requests_beside(
    const std::shared_ptr<const DerivedTrace>& derived, const FidelityReplay& as_recorded) {
  if (are_recorded_requests(*derived, as_recorded.empty_caches)) {
    return {derived, &derived->requests};
  }
  return std::make_shared<RequestTrace>(recorded_requests(*derived, as_recorded.empty_caches));
}

/// In microseconds, of the events of `trace`; empty if they were not recorded.
std::vector<std::int64_t> recorded_times(const RequestTrace& trace, const DerivedTrace& derived,
                                         const RecordedDevice& device) {
  const EventTimes times = times_of(trace, derived, device);
  std::vector<std::int64_t> result;
  for (std::size_t i = 0; times.are_recorded() && i < trace.events.size(); ++i) {
    result.push_back(times.of(i));
  }
  return result;
}

/// The entries of `device` are gone then, unless they are needed to watch it: they are most of what
/// a recording takes.
Workload workload_of(const std::shared_ptr<Recording>& recording, RecordedDevice& device,
                     const std::string& name, const WorkloadRequest& request) {
  RecordedReplay recorded = replay_recorded(*recording, device, name, replay_request(request));
  const auto derived = std::make_shared<DerivedTrace>(std::move(recorded.derived));
  Workload workload;
  workload.name = name;
  workload.as_recorded = recorded.own_options();
  workload.replay = std::move(recorded.replay);
  workload.options = options_of(workload.replay, AddressPolicy::never_reuse);
  workload.older_events = older_block_events(*derived);
  const bool is_timed = request.timed || std::ranges::any_of(request.edits, follows_times);
  if (request.watchable || is_timed) {
    workload.trace = requests_beside(derived, recorded.as_recorded);
    workload.event_times =
        is_timed ? recorded_times(*workload.trace, *derived, device) : std::vector<std::int64_t>();
  } else {
    workload.trace = std::make_shared<RequestTrace>(
        take_recorded_requests(*derived, recorded.as_recorded.empty_caches));
  }
  if (!request.watchable) {
    device.entries = {};
  }
  workload.fidelity = recorded.as_recorded.fidelity;
  workload.limit = recorded.limit;
  apply_recorded_limit(workload, request.memory);
  if (request.watchable) {
    make_watchable(workload, recording, device, derived);
  }
  return workload;
}

/// The same requests under the same settings and limits, decided by another release.
void serve_by(const std::string& release, Workload& workload) {
  check_itself(workload);
  if (workload.replay.fidelity && workload.as_recorded) {
    workload.options = *workload.as_recorded;
  }
  model_release(release, workload.replay);
  workload.options.version = workload.replay.version;
  workload.replay.fidelity.reset();
  workload.replay.capacity = workload.options.capacity;
  workload.replay.memory_limit = workload.options.memory_limit;
  workload.replay.result = replay(*workload.trace, workload.options);
  workload.watch = nullptr;
  workload.times = {};
}

/// A free replay can always be watched, one that follows a recording if it was kept for that.
void make_watchable(Workload& workload) {
  if (!workload.watch) {
    workload.watch = [trace = workload.trace, options = workload.options](StateObserver& observer) {
      replay_watched(*trace, options, observer);
    };
  }
}

const RecordedDevice& device_of(const Recording& recording, int index, const std::string& file) {
  const auto found = std::ranges::find(recording.devices, index, &RecordedDevice::index);
  if (found != recording.devices.end()) {
    return *found;
  }
  if (recording.devices.size() != 1) {
    throw UsageError(fmt::format("'{}' has no device {}", file, index));
  }
  return recording.devices.front();
}

OtherRun other_run(RequestTrace trace, const std::string& file) {
  const DeviceReplay replay = replay_requests(trace, file, {});
  OtherRun run{.settings = replay.settings, .version = replay.version, .times = {}, .context = {}};
  run.trace = std::make_shared<RequestTrace>(std::move(trace));
  return run;
}

OtherRun other_run(const Recording& recording, const RecordedDevice& device,
                   const std::string& file) {
  const RecordedReplay recorded = replay_recorded(recording, device, file, {});
  OtherRun run{.settings = recorded.settings,
               .version = recorded.replay.version,
               .times = {},
               .context = {}};
  run.trace = std::make_shared<RequestTrace>(recorded.requests());
  run.times = recorded_times(*run.trace, recorded.derived, device);
  return run;
}

/// Reads other runs: of several devices the one that is edited.
RunReader reader_for(int device, const ReadingOptions& reading) {
  return [=](const std::string& file) {
    TraceFile content = read_trace_file(file, StackMode::keep, reading);
    auto* const trace = std::get_if<RequestTrace>(&content);
    OtherRun run;
    if (trace != nullptr) {
      run = other_run(std::move(*trace), file);
    } else {
      const auto& recording = std::get<Recording>(content);
      run = other_run(recording, device_of(recording, device, file), file);
    }
    run.context = outside_memory(default_gpu(), run.version->name).context;
    return run;
  };
}

EditAnswer make_edit(const EditWords& words, const RunReader& reader, EditedRun& run) {
  try {
    return {words.text, apply_edit(edit_of(words, run.trace, reader), run)};
  } catch (const UsageError& error) {
    throw UsageError(fmt::format("edit '{}': {}", words.text, error.what()));
  }
}

/// What a plan knows about its run besides the trace, for the edited one.
void follow_trace(Workload& workload) {
  PhasePeakTracker phases(*workload.trace);
  ReplayOptions options = workload.options;
  options.observer = &phases;
  replay(*workload.trace, options);
  Simulation edited = *workload.simulation;
  edited.peaks = phases.finish();
  edited.trace = workload.trace;
  edited.replay = workload.replay;
  workload.simulation = std::make_shared<const Simulation>(std::move(edited));
}

/// What describes the replay of the unedited run.
void forget_recording(Workload& workload) {
  workload.replay.fidelity.reset();
  workload.replay.capacity = workload.options.capacity;
  workload.replay.memory_limit = workload.options.memory_limit;
  workload.watch = nullptr;
  workload.times = {};
}

/// The replay of edited requests was made without them.
void keep_decisions(DecisionDetail decisions, Workload& workload) {
  if (decisions == DecisionDetail::keep) {
    ReplayOptions options = workload.options;
    options.decisions = decisions;
    workload.replay.result = replay(*workload.trace, options);
  }
}

void apply_request(const WorkloadRequest& request, Workload& workload) {
  workload.reading = request.reading;
  if (!request.edits.empty()) {
    edit_workload(request.edits, workload);
    keep_decisions(request.decisions, workload);
  }
  if (request.served_by) {
    static_cast<void>(version_preset(*request.served_by));  // refuses what is too old
    serve_by(*request.served_by, workload);
  }
  if (request.watchable) {
    make_watchable(workload);
  }
}

std::vector<Workload> devices_of(TraceFile trace_file, const WorkloadRequest& request) {
  const std::string& name = *request.file;
  const auto file = std::make_shared<TraceFile>(std::move(trace_file));
  const ProgressLine progress("replaying");
  std::vector<Workload> workloads;
  if (auto* trace = std::get_if<RequestTrace>(file.get())) {
    if (request.device.value_or(0) == 0) {
      workloads.push_back(workload_of(std::move(*trace), name, replay_request(request)));
      note_origin(*file, workloads.back().replay);
    }
  } else {
    const std::shared_ptr<Recording> recording(file, &std::get<Recording>(*file));
    for (RecordedDevice& device : recording->devices) {
      if (request.device.value_or(device.index) == device.index) {
        workloads.push_back(workload_of(recording, device, name, request));
      }
    }
  }
  if (request.device && workloads.empty()) {
    throw UsageError(
        fmt::format("--device {}: '{}' contains no data for this device", *request.device, name));
  }
  return workloads;
}

}  // namespace

ReplayRequest replay_request(const WorkloadRequest& request) {
  return {.memory = request.memory, .torch = request.torch, .device = request.device};
}

bool Workload::ran_out() const {
  return limit && replay.derivation && replay.derivation->failed_requests != 0;
}

bool Workload::is_limit_shown() const {
  return limit && is_bound_as_shown(*limit, options);
}

bool Workload::has_history() const {
  bool has_request = !fidelity;  // other workloads are requests
  for (std::size_t i = older_events; i < trace->events.size() && !has_request; ++i) {
    has_request = trace->events[i].kind == EventKind::alloc;
  }
  return has_request;
}

void require_history(const std::vector<Workload>& workloads, std::string_view therefore) {
  if (!workloads.empty() && std::ranges::none_of(workloads, &Workload::has_history)) {
    throw InputError(workloads.front().name, "",
                     fmt::format("no history in this file, so {}", therefore), kHowToRecord);
  }
}

std::string Workload::site(StackId stack) const {
  return site_label(trace->tables, stack);
}

std::string Workload::trust() const {
  return simulation ? simulation_trust_line(*simulation) : trust_line(replay);
}

std::vector<Workload> workloads_of(TraceFile file, const WorkloadRequest& request) {
  try {
    std::vector<Workload> workloads = devices_of(std::move(file), request);
    std::ranges::for_each(workloads, [&](Workload& workload) { apply_request(request, workload); });
    return workloads;
  } catch (const OperationError& error) {
    throw error.in(*request.file);
  }
}

void require_workloads(const std::vector<Workload>& workloads, const std::string& name) {
  if (workloads.empty()) {
    throw InputError(name, "devices", "the file contains no data for any device",
                     "record a snapshot of a process that uses the GPU");
  }
}

std::vector<Workload> read_workloads(const WorkloadRequest& request) {
  if (request.file) {
    return workloads_of(read_trace_file(*request.file, StackMode::keep, request.reading), request);
  }
  std::vector<Workload> workloads;
  workloads.push_back(
      with_progress("simulating", [&] { return workload_of(*request.plan, request.memory); }));
  apply_request(request, workloads.front());
  return workloads;
}

void check_itself(Workload& workload) {
  std::optional<double>& error = workload.replay.own_settings_error;
  if (workload.fidelity && !error) {
    error = own_settings_error(*workload.trace, *workload.as_recorded, *workload.fidelity);
  }
}

void edit_workload(const std::vector<EditWords>& edits, Workload& workload) {
  check_itself(workload);
  EditedReplay edited;
  const ReplayResult unedited = replay(*workload.trace, workload.options);
  edited.unedited_peak = unedited.peak;
  edited.unedited_ooms = unedited.counts.ooms;
  EditedRun run{copy_of(*workload.trace), workload.older_events, workload.event_times,
                workload.options.beside};
  const RunReader reader = reader_for(workload.replay.device, workload.reading);
  for (const EditWords& words : edits) {
    edited.edits.push_back(make_edit(words, reader, run));
  }
  workload.older_events = run.older_events;
  workload.event_times = {};
  workload.options.beside = run.beside;
  workload.trace = std::make_shared<RequestTrace>(std::move(run.trace));
  forget_recording(workload);
  workload.replay.result = replay(*workload.trace, workload.options);
  workload.replay.stream_handles = workload.trace->stream_handles;
  edited.beside = workload.replay.result.beside;
  edited.is_bounded = workload.options.capacity.has_value();
  workload.replay.edited = std::move(edited);
  if (workload.simulation) {
    follow_trace(workload);
  }
}

Steps steps_of(const Workload& workload) {
  Steps steps = find_steps(*workload.trace);
  std::erase_if(steps.steps,
                [&](const StepSpan& step) { return step.begin < workload.older_events; });
  return steps.steps.empty() ? Steps() : steps;
}

Workload workload_of(Simulation simulation) {
  Workload workload;
  workload.name = printable(run_summary(simulation.plan));
  workload.replay = simulation.replay;
  workload.options = replay_options(simulation);
  workload.trace = simulation.trace;
  workload.simulation = std::make_shared<const Simulation>(std::move(simulation));
  make_watchable(workload);
  return workload;
}

namespace {

PlannedRun worst_rank_of(PlannedRun run, const MemoryRequest& memory) {
  if (run.plan.parallel.gpus() > 1) {
    const RankPeaks survey = simulate_ranks(run, memory, {});
    run.plan.parallel.rank = survey.peaks[survey.worst].ranks.rank;
  }
  return run;
}

}  // namespace

Workload workload_of(const PlannedRun& run, const MemoryRequest& memory) {
  return workload_of(simulate(worst_rank_of(run, memory), memory));
}

Workload workload_for_replays(const PlannedRun& run, const MemoryRequest& memory) {
  return workload_of(simulate_requests(worst_rank_of(run, memory), memory));
}

}  // namespace highwater
