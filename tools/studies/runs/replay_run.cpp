#include "tools/studies/runs/replay_run.hpp"

#include <fmt/format.h>

#include "allocator/settings/settings_describe.hpp"
#include "sim/recordings/recorded_requests.hpp"
#include "sim/recordings/recorded_settings.hpp"
#include "tools/files/file_settings.hpp"
#include "tools/studies/runs/own_settings.hpp"
#include "traces/error.hpp"
#include "traces/release.hpp"

namespace highwater {
namespace {

void require_capacity_for_fraction(const DeviceReplay& replay) {
  if ((replay.memory_fraction || replay.settings.per_process_memory_fraction) && !replay.capacity) {
    throw UsageError(
        "a memory fraction is a share of the device's memory and needs --capacity; add it, or set "
        "the limit itself with --memory-limit");
  }
}

/// Whether the question is what the recorded process itself did.
bool is_as_recorded(const ReplayRequest& request) {
  return !request.memory.alloc_conf && !request.memory.has_limit();
}

/// A limit that is given replaces all that the program set.
MemoryLimits limits_for(const ReplayRequest& request) {
  return request.memory.has_limit() ? MemoryLimits::of_the_caller : MemoryLimits::of_the_trace;
}

/// The release of --torch. @throws UsageError
std::string known_release(const std::string& release) {
  static_cast<void>(version_preset(release));
  return release;
}

/// A trace that does not name its release is as old as the conformance vectors.
std::string release_of_requests(const RequestTrace& trace, const ReplayRequest& request) {
  constexpr std::string_view kOldest = "2.6";
  if (request.torch) {
    return known_release(*request.torch);
  }
  return trace.header.torch ? to_string(*trace.header.torch) : std::string(kOldest);
}

/// The recorded settings; a string that cannot be read matters only if nothing replaces it.
Settings settings_unless_replaced(const std::string& name, const Recording& recording,
                                  DeviceReplay& replay, const ReplayRequest& request) {
  if (!request.memory.alloc_conf) {
    return settings_from_file(name, recording, *replay.version);
  }
  try {
    return settings_of(recording, *replay.version);
  } catch (const SettingsError& error) {
    replay.notes.push_back(
        fmt::format("the file's own settings '{}' could not be parsed ({}); only their parsed "
                    "fields were used",
                    recording.settings->conf, error.what()));
    return settings_from_fields(recording);
  }
}

/// Settings do not make a device larger: a recording keeps the limit that is noted, or that shows
/// where it ran out of memory, unless another one is given.
void keep_recorded_limit(RecordedReplay& recorded, const ReplayRequest& request) {
  if (!recorded.limit || request.memory.has_limit()) {
    return;
  }
  ReplayOptions options;
  bound_as_shown(*recorded.limit, options);
  recorded.replay.capacity = options.capacity;
  recorded.replay.memory_limit = options.memory_limit;
  const bool is_noted = recorded.limit->source == RecordedLimit::Source::noted;
  recorded.replay.notes.push_back(
      fmt::format("{} {}: these settings get no more; --capacity or --memory-limit replace it",
                  is_noted ? "the device of the recording had"
                           : "the recording ran out of memory, which shows that it could have",
                  to_iec(recorded.limit->at_least)));
}

}  // namespace

void model_release(const std::string& release, DeviceReplay& replay) {
  replay.version = &nearest_preset(release);
  replay.later_torch = is_newer_than_known(release) ? std::optional(release) : std::nullopt;
  if (!was_recorded(release) && !replay.later_torch) {
    replay.notes.push_back(
        fmt::format("the allocator is modelled as in PyTorch {}, the nearest to {}",
                    replay.version->name, release));
  }
}

ReplayOptions options_of(const DeviceReplay& replay, AddressPolicy addresses) {
  ReplayOptions options;
  options.settings = replay.settings;
  options.version = replay.version;
  options.capacity = replay.capacity;
  options.memory_limit = replay.memory_limit;
  options.fraction = replay.memory_fraction;
  options.limits = replay.limits;
  options.addresses = addresses;
  return options;
}

DeviceReplay replay_requests(const RequestTrace& trace, const std::string& name,
                             const ReplayRequest& request) {
  DeviceReplay replay;
  model_release(release_of_requests(trace, request), replay);
  if (request.memory.alloc_conf) {
    replay.settings = settings_from_command_line(*request.memory.alloc_conf, *replay.version);
  } else {
    try {
      replay.settings = parse_settings(trace.header.settings, *replay.version);
    } catch (const SettingsError& error) {
      throw InputError(name, "conf", fmt::format("'{}': {}", trace.header.settings, error.what()),
                       "correct the line, or set the settings with --alloc-conf");
    }
  }
  replay.capacity = request.memory.capacity ? request.memory.capacity : trace.header.capacity;
  replay.memory_limit = request.memory.memory_limit;
  replay.memory_fraction = request.memory.memory_limit || request.memory.memory_fraction
                               ? request.memory.memory_fraction
                               : trace.header.fraction;
  replay.limits = limits_for(request);
  require_capacity_for_fraction(replay);
  ReplayOptions options = options_of(replay, trace.header.addresses);
  options.decisions = request.decisions;
  replay.result = highwater::replay(trace, options);
  replay.events_read = trace.events.size();
  replay.stream_handles = trace.stream_handles;
  note_inactive_collection(replay);
  return replay;
}

RequestTrace RecordedReplay::requests() const {
  return recorded_requests(derived, as_recorded.empty_caches);
}

ReplayOptions RecordedReplay::own_options() const {
  ReplayOptions options;
  options.settings = settings;
  options.version = version;
  if (limit) {
    bound_as_shown(*limit, options);
  }
  return options;
}

RecordedReplay replay_recorded(const Recording& recording, const RecordedDevice& device,
                               const std::string& name, const ReplayRequest& request) {
  RecordedReplay recorded_replay;
  DeviceReplay& replay = recorded_replay.replay;
  replay.device = device.index;
  replay.version = &preset_of(recording);
  if (request.torch) {
    model_release(known_release(*request.torch), replay);
  }
  replay.torch_detected = to_string(recording.writer);
  const Settings recorded = settings_unless_replaced(name, recording, replay, request);
  replay.settings = request.memory.alloc_conf
                        ? settings_from_command_line(*request.memory.alloc_conf, *replay.version)
                        : recorded;
  replay.capacity = request.memory.capacity;
  replay.memory_limit = request.memory.memory_limit;
  replay.memory_fraction = request.memory.memory_fraction;
  replay.limits = limits_for(request);
  require_capacity_for_fraction(replay);
  recorded_replay.settings = recorded;
  recorded_replay.version = &preset_of(recording);
  const DerivedTrace& derived = recorded_replay.derived =
      derive_requests(recording, device, recorded);
  FidelityReplay& as_recorded = recorded_replay.as_recorded =
      replay_as_recorded(device, derived, recorded, *replay.version, request.decisions);
  recorded_replay.limit = recorded_limit(derived.requests.header.capacity, as_recorded);
  if (is_as_recorded(request)) {
    replay.result = std::move(as_recorded.result);
    replay.fidelity = as_recorded.fidelity;
    if (replay.version != &preset_of(recording)) {
      replay.notes.push_back(fmt::format(
          "the recording is followed with the model of another release, {}: where the two decide "
          "differently, the figures are the recording's, and the fidelity says how often; sweep "
          "--set torch={} and diff --torch-b {} show what that release would have done",
          replay.version->name, replay.version->name, replay.version->name));
    }
  } else {
    keep_recorded_limit(recorded_replay, request);
    ReplayOptions options = options_of(replay, AddressPolicy::never_reuse);
    options.decisions = request.decisions;
    const RequestTrace requests = recorded_replay.requests();
    replay.result = highwater::replay(requests, options);
    replay.own_settings_error =
        own_settings_error(requests, recorded_replay.own_options(), as_recorded.fidelity);
    if (derived.report.failed_requests != 0) {
      replay.notes.push_back(fmt::format(
          "{} requests ran out of memory in the recording; each is asked for again and freed at "
          "once, since the recording does not show what would have followed",
          derived.report.failed_requests));
    }
    if (derived.report.initial_blocks != 0) {
      replay.notes.push_back(fmt::format(
          "{} blocks older than the recording are allocated first, in address order: where they "
          "would lie under these settings is unknown",
          derived.report.initial_blocks));
    }
  }
  replay.derivation = derived.report;
  replay.events_read = derived.report.entries_read;
  replay.events_dropped = derived.report.entries_dropped;
  replay.truncated = derived.report.truncated;
  replay.stream_handles = derived.requests.stream_handles;
  for (const std::string& problem : derived.report.problems) {
    replay.notes.push_back(problem);
  }
  if (replay.fidelity && replay.fidelity->corrections_stopped) {
    replay.notes.emplace_back(
        "too many differences to resynchronise: from there on the fidelity is a lower bound");
  }
  note_inactive_collection(replay);
  return recorded_replay;
}

Settings settings_from_command_line(const std::string& conf, const VersionPreset& version,
                                    std::string_view option) {
  try {
    return parse_settings(conf, version);
  } catch (const SettingsError& error) {
    throw UsageError(fmt::format("--{} '{}': {}", option, conf, refusal_text(error, version)));
  }
}

void note_inactive_collection(DeviceReplay& replay) {
  if (replay.settings.garbage_collection_threshold > 0 && !replay.memory_limit &&
      !replay.memory_fraction && !replay.settings.per_process_memory_fraction && !replay.fidelity) {
    replay.notes.emplace_back(
        "garbage_collection_threshold has an effect only under a memory fraction, which no file "
        "records; set --memory-limit or --memory-fraction to see it");
  }
}

void note_origin(const TraceFile& file, DeviceReplay& replay) {
  replay.profiled = file.profiled;
  replay.notes.insert(replay.notes.end(), file.notes.begin(), file.notes.end());
}

std::vector<DeviceReplay> run_replays(const TraceFile& file, const std::string& name,
                                      const ReplayRequest& request) {
  std::vector<DeviceReplay> replays;
  if (const auto* trace = std::get_if<RequestTrace>(&file)) {
    if (request.device.value_or(0) == 0) {
      replays.push_back(replay_requests(*trace, name, request));
      note_origin(file, replays.back());
    }
  } else {
    const auto& recording = std::get<Recording>(file);
    for (const RecordedDevice& device : recording.devices) {
      if (request.device.value_or(device.index) == device.index) {
        replays.push_back(replay_recorded(recording, device, name, request).replay);
      }
    }
  }
  if (request.device && replays.empty()) {
    throw UsageError(
        fmt::format("--device {}: '{}' contains no data for this device", *request.device, name));
  }
  return replays;
}

}  // namespace highwater
