#include "tools/replay_run.hpp"

#include <fmt/format.h>

#include "allocator/settings_options.hpp"
#include "sim/baseline.hpp"
#include "sim/recorded_settings.hpp"
#include "tools/file_settings.hpp"
#include "traces/error.hpp"

namespace highwater {
namespace {

void check_limits(const ReplayRequest& request) {
  if (request.memory_limit && request.memory_fraction) {
    throw UsageError("--memory-limit and --memory-fraction are the same limit; give one of them");
  }
  if (request.memory_fraction &&
      !(*request.memory_fraction >= 0 && *request.memory_fraction <= 1)) {
    throw UsageError(
        fmt::format("--memory-fraction {}: not between 0 and 1", *request.memory_fraction));
  }
}

ReplayOptions options_of(const DeviceReplay& replay, const ReplayRequest& request,
                         AddressPolicy addresses) {
  ReplayOptions options;
  options.decisions = request.decisions;
  options.settings = replay.settings;
  options.version = replay.version;
  options.capacity = replay.capacity;
  options.memory_limit = replay.memory_limit;
  options.fraction = replay.memory_fraction;
  options.addresses = addresses;
  return options;
}

void require_capacity_for_fraction(const DeviceReplay& replay) {
  if ((replay.memory_fraction || replay.settings.per_process_memory_fraction) && !replay.capacity) {
    throw UsageError(
        "a memory fraction needs --capacity: it is a share of the device's memory; give that, or "
        "the limit itself with --memory-limit");
  }
}

DeviceReplay replay_requests(const RequestTrace& trace, const std::string& name,
                             const ReplayRequest& request) {
  DeviceReplay replay;
  replay.version = &version_preset(request.torch.value_or("2.6"));
  if (request.alloc_conf) {
    replay.settings = settings_from_command_line(*request.alloc_conf, *replay.version);
  } else {
    try {
      replay.settings = parse_settings(trace.header.settings, *replay.version);
    } catch (const SettingsError& error) {
      throw InputError(name, "conf", fmt::format("'{}': {}", trace.header.settings, error.what()),
                       "correct the line, or give the settings with --alloc-conf");
    }
  }
  replay.capacity = request.capacity ? request.capacity : trace.header.capacity;
  replay.memory_limit = request.memory_limit;
  replay.memory_fraction = request.memory_limit || request.memory_fraction ? request.memory_fraction
                                                                           : trace.header.fraction;
  require_capacity_for_fraction(replay);
  replay.result = highwater::replay(trace, options_of(replay, request, trace.header.addresses));
  replay.events_read = trace.events.size();
  replay.stream_handles = trace.stream_handles;
  note_inactive_collection(replay);
  return replay;
}

/// Whether the question is what the recorded process itself did.
bool is_as_recorded(const ReplayRequest& request) {
  return !request.alloc_conf && !request.capacity && !request.memory_limit &&
         !request.memory_fraction;
}

/// The recorded settings; a string that cannot be read matters only if nothing replaces it.
Settings settings_unless_replaced(const std::string& name, const Recording& recording,
                                  DeviceReplay& replay, const ReplayRequest& request) {
  if (!request.alloc_conf) {
    return settings_from_file(name, recording, *replay.version);
  }
  try {
    return settings_of(recording, *replay.version);
  } catch (const SettingsError& error) {
    replay.notes.push_back(
        fmt::format("the file's own settings '{}' were not understood ({}); "
                    "only their parsed fields were used to read it",
                    recording.settings->conf, error.what()));
    return settings_from_fields(recording);
  }
}

DeviceReplay replay_recorded(const Recording& recording, const RecordedDevice& device,
                             const std::string& name, const ReplayRequest& request) {
  DeviceReplay replay;
  replay.device = device.index;
  replay.version = request.torch ? &version_preset(*request.torch) : &preset_of(recording);
  replay.torch_detected = to_string(recording.writer);
  const Settings recorded = settings_unless_replaced(name, recording, replay, request);
  replay.settings = request.alloc_conf
                        ? settings_from_command_line(*request.alloc_conf, *replay.version)
                        : recorded;
  replay.capacity = request.capacity;
  replay.memory_limit = request.memory_limit;
  replay.memory_fraction = request.memory_fraction;
  require_capacity_for_fraction(replay);
  const DerivedTrace derived = derive_requests(recording, device, recorded);
  FidelityReplay as_recorded =
      replay_as_recorded(device, derived, recorded, *replay.version, request.decisions);
  if (is_as_recorded(request)) {
    replay.result = std::move(as_recorded.result);
    replay.fidelity = as_recorded.fidelity;
  } else {
    replay.result = highwater::replay(with_baseline(derived, as_recorded.empty_caches),
                                      options_of(replay, request, AddressPolicy::never_reuse));
    if (derived.report.failed_requests != 0) {
      replay.notes.push_back(fmt::format(
          "{} requests ran out of memory in the recording; each is asked again and freed at once, "
          "since the recording does not tell what would have followed",
          derived.report.failed_requests));
    }
    if (derived.report.initial_blocks != 0) {
      replay.notes.push_back(fmt::format(
          "{} blocks older than the recording are allocated first, in address order: where they "
          "would lie under these settings is not known",
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
        "the model differs from the recording too often to be put right each time; from there on "
        "the fidelity counts differences that follow from earlier ones");
  }
  note_inactive_collection(replay);
  return replay;
}

}  // namespace

Settings settings_from_command_line(const std::string& conf, const VersionPreset& version) {
  try {
    return parse_settings(conf, version);
  } catch (const SettingsError& error) {
    throw UsageError(fmt::format("--alloc-conf '{}': {}{} (as PyTorch {} has it)", conf,
                                 error.what(), suggestion(error, version), version.name));
  }
}

void note_inactive_collection(DeviceReplay& replay) {
  if (replay.settings.garbage_collection_threshold > 0 && !replay.memory_limit &&
      !replay.memory_fraction && !replay.settings.per_process_memory_fraction && !replay.fidelity) {
    replay.notes.emplace_back(
        "garbage_collection_threshold acts only under a memory fraction, which no file records; "
        "give --memory-limit or --memory-fraction to see it at work");
  }
}

std::vector<DeviceReplay> run_replays(const TraceFile& file, const std::string& name,
                                      const ReplayRequest& request) {
  check_limits(request);
  std::vector<DeviceReplay> replays;
  if (const auto* trace = std::get_if<RequestTrace>(&file)) {
    if (request.device.value_or(0) == 0) {
      replays.push_back(replay_requests(*trace, name, request));
    }
  } else {
    const auto& recording = std::get<Recording>(file);
    for (const RecordedDevice& device : recording.devices) {
      if (request.device.value_or(device.index) == device.index) {
        replays.push_back(replay_recorded(recording, device, name, request));
      }
    }
  }
  if (request.device && replays.empty()) {
    throw UsageError(
        fmt::format("--device {}: '{}' has nothing about that device", *request.device, name));
  }
  return replays;
}

}  // namespace highwater
