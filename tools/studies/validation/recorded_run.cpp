#include "tools/studies/validation/recorded_run.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <filesystem>
#include <span>
#include <utility>

#include <fmt/format.h>

#include "sim/recordings/recorded_settings.hpp"
#include "tools/files/file_settings.hpp"
#include "tools/files/input.hpp"
#include "traces/error.hpp"
#include "traces/formats/bytes/byte_source.hpp"
#include "traces/formats/json/json_stream.hpp"
#include "workloads/recorded/recorded_case.hpp"

namespace highwater {
namespace {

namespace fs = std::filesystem;

constexpr std::array<std::string_view, 2> kDescriptions{".json", ".json.xz"};
constexpr std::array<std::string_view, 5> kRecordings{".pickle.xz", ".hwt.xz", ".pickle", ".hwt",
                                                      ".hwt.zst"};

/// `path` without the one of `endings` that it has; absent if it has none.
std::optional<std::string> stem_of(const std::string& path,
                                   std::span<const std::string_view> endings) {
  const auto found = std::ranges::find_if(
      endings, [&](std::string_view ending) { return path.ends_with(ending); });
  return found == endings.end() ? std::nullopt
                                : std::optional(path.substr(0, path.size() - found->size()));
}

std::optional<std::string> existing(const std::string& stem,
                                    std::span<const std::string_view> endings) {
  for (const std::string_view ending : endings) {
    std::string path = stem + std::string(ending);
    if (fs::exists(path)) {
      return path;
    }
  }
  return std::nullopt;
}

Recording read_recording(const std::string& path, StackMode stacks) {
  ReadingOptions reading;
  reading.progress = ReadingProgress::hidden;  // the cases are counted
  TraceFile file = read_trace_file(path, stacks, reading);
  if (auto* recording = std::get_if<Recording>(&file)) {
    return std::move(*recording);
  }
  throw InputError(path, "", "this is a request trace, not a recording of a real allocator",
                   "use the snapshot");
}

const RecordedDevice* busiest_device(const Recording& recording, const std::string& name) {
  const auto busiest = std::ranges::max_element(
      recording.devices, {}, [](const RecordedDevice& device) { return device.entries.size(); });
  if (busiest == recording.devices.end()) {
    throw InputError(name, "device_traces", "no device has any entries",
                     "record the history with torch.cuda.memory._record_memory_history");
  }
  return &*busiest;
}

/// The last request that failed: the one that ended the program.
std::optional<AllocationId> last_failed(const DerivedTrace& derived) {
  const ChunkedVector<Event>& events = derived.requests.events;
  for (std::size_t i = events.size(); i-- > 0;) {
    if (events[i].kind == EventKind::alloc && derived.failed(events[i].allocation)) {
      return events[i].allocation;
    }
  }
  return std::nullopt;
}

/// A damaged file is left to those who read it, and say so.
bool may_describe_case(const std::string& path) {
  try {
    return describes_case(path);
  } catch (const InputError&) {
    return true;
  }
}

std::optional<CaseFiles> pair_of(const std::string& path) {
  const std::optional<std::string> described = stem_of(path, kDescriptions);
  const std::optional<std::string> stem = described ? described : stem_of(path, kRecordings);
  if (!stem || !fs::exists(path)) {
    return std::nullopt;
  }
  const auto description = described ? std::optional(path) : existing(*stem, kDescriptions);
  const auto recording = described ? existing(*stem, kRecordings) : std::optional(path);
  if (!description || !recording) {
    return std::nullopt;
  }
  return CaseFiles{*description, *recording};
}

/// Notices the key that every description has.
struct CaseKey : detail::JsonEvents {
  void begin_object() { ++depth; }

  void end_object() { --depth; }

  void key(std::string_view text) { is_there = is_there || (depth == 1 && text == "case"); }

  int depth = 0;
  bool is_there = false;
};

}  // namespace

bool describes_case(const std::string& path) {
  if (!stem_of(path, kDescriptions) || !fs::is_regular_file(path)) {
    return false;
  }
  const auto source = open_source(path);
  CaseKey key;
  detail::JsonStream<CaseKey> stream(*source, key, "write the file again");
  while (!key.is_there && stream.next()) {
  }
  return key.is_there;
}

std::optional<CaseFiles> case_files(const std::string& path) {
  std::optional<CaseFiles> files = pair_of(path);
  return files && describes_case(files->description) ? files : std::nullopt;
}

std::vector<CaseFiles> find_cases(const std::string& folder) {
  std::error_code error;
  std::vector<CaseFiles> cases;
  for (auto entry = fs::recursive_directory_iterator(folder, error);
       !error && entry != fs::recursive_directory_iterator(); entry.increment(error)) {
    const std::string path = entry->path().string();
    if (stem_of(path, kDescriptions)) {
      auto files = pair_of(path);
      if (files && may_describe_case(files->description)) {
        cases.push_back(std::move(*files));
      }
    }
  }
  if (error) {
    throw InputError(folder, "", "cannot be searched: " + error.message(),
                     "name a folder with pairs X.json, X.pickle.xz");
  }
  std::ranges::sort(cases, {}, &CaseFiles::description);
  return cases;
}

RecordedCase load_case(const std::string& description) {
  return read_recorded_case(read_text_file(description), description);
}

DerivedRecording::DerivedRecording(Recording read, const std::string& name)
    : recording(std::move(read)),
      device(busiest_device(recording, name)),
      version(&preset_of(recording)),
      settings(settings_from_file(name, recording, *version)),
      derived(derive_requests(recording, *device, settings)) {}

std::unique_ptr<DerivedRecording> load_recording(const std::string& path, StackMode stacks) {
  return std::make_unique<DerivedRecording>(read_recording(path, stacks), path);
}

ReplayOptions replay_options(const RecordedCase& recorded, const std::string& source) {
  ReplayOptions options;
  options.version = &nearest_preset(recorded.torch);
  try {
    options.settings = parse_settings(recorded.alloc_conf, *options.version);
  } catch (const SettingsError& error) {
    throw InputError(source, "case.alloc_conf",
                     fmt::format("'{}': {}", recorded.alloc_conf, error.what()),
                     "the file is damaged, or the recorded release is not modelled");
  }
  options.capacity = recorded.gpu.total_memory;
  options.fraction = recorded.memory_fraction;
  return options;
}

namespace {

/// A block that another stream used is completed by the next request. Where its free is the last
/// request of a phase, its completion is the first entry of the next one.
std::uint64_t after_completion(const RecordedDevice& device, std::uint64_t begin) {
  if (begin == 0 || begin >= device.entries.size()) {
    return begin;
  }
  const RecordedEntry& last = device.entries[begin - 1];
  const RecordedEntry& next = device.entries[begin];
  const bool completes = last.action == RecordedAction::free_requested &&
                         next.action == RecordedAction::free_completed &&
                         last.address == next.address;
  return completes ? begin + 1 : begin;
}

}  // namespace

ComparedTrace compared_trace(const DerivedRecording& recorded, const RecordedCase* described) {
  if (described == nullptr) {
    return compared_trace(recorded.derived.requests);
  }
  ComparedTrace compared;
  compared.requests = &recorded.derived.requests;
  const std::vector<std::uint32_t>& ends = recorded.derived.entry_ends;
  for (const RecordedPhase& phase : recorded_phases(*described)) {
    const auto first =
        std::ranges::upper_bound(ends, after_completion(*recorded.device, phase.begin));
    compared.phases.push_back(
        {static_cast<std::size_t>(first - ends.begin()), phase.step, phase.phase});
  }
  if (described->status == CaseStatus::out_of_memory) {
    compared.failed = last_failed(recorded.derived);
  }
  return compared;
}

ComparedTrace compared_trace(const RequestTrace& trace) {
  return {&trace, phase_boundaries(trace), std::nullopt};
}

}  // namespace highwater
