// Replays one file according to the command line: which settings, which device, as recorded or not.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "sim/edits/edit.hpp"
#include "sim/recordings/fidelity.hpp"
#include "sim/recordings/recorded_limit.hpp"
#include "sim/replay/replay.hpp"
#include "tools/files/input.hpp"
#include "tools/studies/runs/memory_request.hpp"

namespace highwater {

/// The options of `replay` that decide what is simulated.
struct ReplayRequest {
  MemoryRequest memory;
  std::optional<std::string> torch;  ///< version preset
  std::optional<int> device;         ///< only this one
  DecisionDetail decisions = DecisionDetail::none;
};

/// One edit, as it was typed, and what it did.
struct EditAnswer {
  std::string edit;
  EditReport report;
};

/// A run that was changed before it was replayed.
struct EditedReplay {
  std::vector<EditAnswer> edits;  ///< in the order in which they were made
  Usage unedited_peak;            ///< of the same run without them, under the same limits
  std::uint64_t unedited_ooms = 0;
  std::optional<NeighbourResult> beside;  ///< what became of a second process on the device
  bool is_bounded = false;                ///< the device has a capacity
};

/// The replay of one device.
struct DeviceReplay {
  int device = 0;
  ReplayResult result;
  std::optional<Fidelity> fidelity;            ///< recordings under their own settings only
  std::optional<DerivationReport> derivation;  ///< recordings only
  /// Of recordings that a what-if was asked of (own_settings.hpp).
  std::optional<double> own_settings_error;
  Settings settings;
  const VersionPreset* version = nullptr;
  std::optional<std::string> later_torch;     ///< the release asked for, newer than the model's
  std::optional<std::string> torch_detected;  ///< recordings only
  std::optional<Bytes> capacity;
  std::optional<Bytes> memory_limit;
  MemoryLimits limits = MemoryLimits::of_the_trace;  ///< those that the program sets count, too
  std::optional<double> memory_fraction;
  std::uint64_t events_read = 0;
  std::uint64_t events_dropped = 0;
  bool truncated = false;
  std::optional<ProfiledRun> profiled;        ///< traces that a profiler wrote only
  std::optional<EditedReplay> edited;         ///< what was changed before the replay
  std::vector<std::string> notes;             ///< what a reader of the numbers should know
  std::vector<std::uint64_t> stream_handles;  ///< by StreamId
};

/// Models the allocator of `release`, or of the known one nearest to it; the replay says so then.
void model_release(const std::string& release, DeviceReplay& replay);

/// The settings of --alloc-conf, or of another option. @throws UsageError with PyTorch's reason and
/// a near name
Settings settings_from_command_line(const std::string& conf, const VersionPreset& version,
                                    std::string_view option = "alloc-conf");

/// A replayed recording, with the data for further replays.
struct RecordedReplay {
  DeviceReplay replay;
  DerivedTrace derived;
  FidelityReplay as_recorded;              ///< without its result, if `replay` has it
  Settings settings;                       ///< the recorded process's own ...
  const VersionPreset* version = nullptr;  ///< ... and its release
  std::optional<RecordedLimit> limit;

  /// For a replay of `requests()` as the recorded process ran, within the limit that its failure
  /// shows.
  [[nodiscard]] ReplayOptions own_options() const;

  /// The requests alone, for replays under other settings; older blocks come first.
  [[nodiscard]] RequestTrace requests() const;
};

/// Replays one device of a recording according to `request`.
/// @throws UsageError, InputError
RecordedReplay replay_recorded(const Recording& recording, const RecordedDevice& device,
                               const std::string& name, const ReplayRequest& request);

/// Replays a request trace according to `request`. @throws UsageError, InputError
DeviceReplay replay_requests(const RequestTrace& trace, const std::string& name,
                             const ReplayRequest& request);

/// The options under which `replay` ran.
ReplayOptions options_of(const DeviceReplay& replay, AddressPolicy addresses);

/// Adds a note if garbage_collection_threshold has no effect.
void note_inactive_collection(DeviceReplay& replay);

/// Adds what `file` says of where its requests are from.
void note_origin(const TraceFile& file, DeviceReplay& replay);

/// One result per device with activity, ascending.
/// @throws UsageError for wrong options, InputError for wrong settings inside the file.
std::vector<DeviceReplay> run_replays(const TraceFile& file, const std::string& name,
                                      const ReplayRequest& request);

}  // namespace highwater
