#include "tools/report_run.hpp"

#include <algorithm>
#include <filesystem>

#include <fmt/format.h>

#include "sim/baseline.hpp"
#include "tools/file_settings.hpp"
#include "tools/plan_words.hpp"
#include "tools/replay_report.hpp"
#include "tools/simulate_report.hpp"
#include "traces/error.hpp"

namespace highwater {
namespace {

ReplayOptions options_of(const DeviceReplay& replay, AddressPolicy addresses) {
  ReplayOptions options;
  options.settings = replay.settings;
  options.version = replay.version;
  options.capacity = replay.capacity;
  options.memory_limit = replay.memory_limit;
  options.fraction = replay.memory_fraction;
  options.addresses = addresses;
  return options;
}

std::vector<StackId> stacks_of(const RequestTrace& trace) {
  std::vector<StackId> stacks(trace.allocation_count);
  for (const Event& event : trace.events) {
    if (event.kind == EventKind::alloc) {
      stacks[event.allocation.index()] = event.stack;
    }
  }
  return stacks;
}

void watch_freely(const ReplayOptions& options, ReportRun& run) {
  run.history = collect_history(
      *run.trace, [&](StateObserver& observer) { replay_watched(*run.trace, options, observer); });
  run.blame = blame_fragmentation(*run.trace, options);
}

const RecordedDevice& device_of(const Recording& recording, int index) {
  return *std::ranges::find(recording.devices, index, &RecordedDevice::index);
}

/// Follows the recording where the replay did, else replays its requests under other settings.
void watch_recording(const Recording& recording, const std::string& name, ReportRun& run) {
  const RecordedDevice& device = device_of(recording, run.replay.device);
  const Settings recorded = run.replay.fidelity
                                ? run.replay.settings
                                : settings_from_file(name, recording, preset_of(recording));
  DerivedTrace derived = derive_requests(recording, device, recorded);
  const VersionPreset& version = *run.replay.version;
  const auto follow = [&](StateObserver* observer) {
    return replay_as_recorded(device, derived, recorded, version, DecisionDetail::none, observer);
  };
  RequestTrace free_trace = with_baseline(derived, follow(nullptr).empty_caches);
  const ReplayOptions options = options_of(run.replay, AddressPolicy::never_reuse);
  run.stacks = stacks_of(free_trace);
  if (run.replay.fidelity) {
    run.history =
        collect_history(derived.requests, [&](StateObserver& observer) { follow(&observer); });
    run.blame = blame_fragmentation(free_trace, options);
    run.trace = std::make_shared<RequestTrace>(std::move(derived.requests));
  } else {
    run.trace = std::make_shared<RequestTrace>(std::move(free_trace));
    watch_freely(options, run);
  }
}

std::string replay_verdict(const DeviceReplay& replay) {
  const ReplayResult& result = replay.result;
  if (!result.ooms.empty()) {
    const OutOfMemory& oom = result.ooms.front().account;
    const Bytes unused = oom.reserved - std::min(oom.reserved, oom.active);
    return fmt::format(
        "Ran out of memory{}: asked for {} with {} reserved, of which {} lay unused{}",
        replay.result.counts.ooms > 1 ? fmt::format(" {} times", result.counts.ooms) : "",
        to_iec(oom.requested), to_iec(oom.reserved), to_iec(unused),
        result.counts.ooms > 1 ? " (the first time)" : "");
  }
  const Bytes unused = result.at_peak_reserved.reserved -
                       std::min(result.at_peak_reserved.reserved, result.at_peak_reserved.active);
  return fmt::format("Reserved at most {}, of which {} ({:.1f} %) lay unused at that moment",
                     to_iec(result.peak.reserved), to_iec(unused),
                     100 * result.fragmentation.at_peak_reserved);
}

std::string other_devices(const std::vector<DeviceReplay>& replays, int shown) {
  std::string text;
  for (const DeviceReplay& replay : replays) {
    if (replay.device != shown) {
      text += fmt::format("{}device {} ({})", text.empty() ? "" : ", ", replay.device,
                          to_iec(replay.result.peak.reserved));
    }
  }
  return text;
}

}  // namespace

ReportRun run_for_report(const TraceFile& file, const std::string& name,
                         const ReplayRequest& request) {
  std::vector<DeviceReplay> replays = run_replays(file, name, request);
  if (replays.empty()) {
    throw InputError(name, "devices", "the file has nothing about any device",
                     "record a snapshot of a process that uses the GPU");
  }
  const auto highest = std::ranges::max_element(
      replays, {}, [](const DeviceReplay& replay) { return replay.result.peak.reserved; });
  ReportRun run;
  const std::string others = other_devices(replays, highest->device);
  run.replay = std::move(*highest);
  if (!others.empty()) {
    run.replay.notes.push_back(fmt::format(
        "about device {}; the file also has {} (--device chooses)", run.replay.device, others));
  }
  run.title = name == "-" ? "standard input" : std::filesystem::path(name).filename().string();
  run.available = run.replay.memory_limit ? run.replay.memory_limit : run.replay.capacity;
  run.verdict = replay_verdict(run.replay);
  run.trust = trust_line(run.replay);
  run.outcome = !run.replay.result.ooms.empty() ? RunOutcome::out_of_memory
                : run.available                 ? RunOutcome::fits
                                                : RunOutcome::unlimited;
  if (const auto* trace = std::get_if<RequestTrace>(&file)) {
    run.trace = std::make_shared<RequestTrace>(*trace);
    run.stacks = stacks_of(*trace);
    watch_freely(options_of(run.replay, trace->header.addresses), run);
  } else {
    watch_recording(std::get<Recording>(file), name, run);
  }
  return run;
}

ReportRun run_for_report(const PlannedRun& plan, const MemoryRequest& memory) {
  Simulation simulation = simulate(plan, memory);
  ReportRun run;
  run.is_plan = true;
  run.title = plan_summary(simulation.plan);
  run.verdict = verdict(simulation);
  run.trust = simulation_trust_line(simulation);
  run.outcome = !simulation.fits()     ? RunOutcome::out_of_memory
                : simulation.available ? RunOutcome::fits
                                       : RunOutcome::unlimited;
  run.available = simulation.available;
  run.trace = simulation.trace;
  run.stacks = stacks_of(*run.trace);
  ReplayOptions options = options_of(simulation.replay, AddressPolicy::never_reuse);
  options.capacity = simulation.available;
  options.memory_limit.reset();
  options.fraction.reset();
  options.after_oom = AfterOom::stop;
  run.replay = std::move(simulation.replay);
  watch_freely(options, run);
  return run;
}

}  // namespace highwater
