#include "tools/studies/scan/scan_run.hpp"

#include <algorithm>
#include <limits>
#include <new>
#include <unordered_map>
#include <utility>

#include "sim/recordings/recorded_requests.hpp"
#include "sim/replay/trace_driver.hpp"
#include "tools/studies/runs/replay_run.hpp"
#include "tools/studies/scan/memory_gate.hpp"
#include "tools/studies/scan/rank_comparison.hpp"
#include "traces/error.hpp"

namespace highwater {

template <>
inline constexpr std::size_t kEnumerators<HeldBy> = 3;

namespace {

/// Bytes of snapshots, decompressed, that are read at a time.
constexpr std::uint64_t kSnapshotBytes = std::uint64_t{2} << 30;

/// A row whose parts still have their names.
struct ScannedDevice {
  ScanRow row;
  std::vector<HeldPart> held;
};

/// The segments that a file lists show nothing by themselves: without entries they are what the
/// model starts from.
std::optional<double> share(const Fidelity& f) {
  const std::uint64_t decisions = f.alloc_addresses_compared + f.segment_events_recorded;
  const std::uint64_t compared = decisions + f.final_segments_compared;
  const std::uint64_t matched =
      f.alloc_addresses_matched + f.segment_events_matched + f.final_segments_matched;
  return decisions == 0
             ? std::nullopt
             : std::optional(static_cast<double>(matched) / static_cast<double>(compared));
}

ScanRow row_of(const DeviceReplay& replay) {
  ScanRow row;
  row.device = replay.device;
  row.peak = replay.result.peak;
  row.fragmentation = replay.result.fragmentation.peak;
  row.ooms = replay.derivation ? replay.derivation->failed_requests : replay.result.counts.ooms;
  row.truncated = replay.truncated;
  if (replay.fidelity) {
    row.fidelity = share(*replay.fidelity);
  }
  return row;
}

void look_at(const RequestTrace& trace, std::size_t older_events, ScannedDevice& device) {
  device.held = held_at_peak(trace);
  Steps steps = find_steps(trace);
  std::erase_if(steps.steps, [&](const StepSpan& step) { return step.begin < older_events; });
  device.row.growth = step_growth(trace, steps);
}

/// Its entries, most of what a recording takes, are gone then.
ScannedDevice scan_device(const Recording& recording, RecordedDevice& recorded,
                          const std::string& name) {
  RecordedReplay replay = replay_recorded(recording, recorded, name, {});
  recorded.entries = {};
  ScannedDevice device{row_of(replay.replay), {}};
  const std::size_t older = older_block_events(replay.derived);
  look_at(take_recorded_requests(replay.derived, replay.as_recorded.empty_caches), older, device);
  return device;
}

std::vector<ScannedDevice> scan_devices(TraceFile file, const std::string& name) {
  std::vector<ScannedDevice> devices;
  if (const auto* const trace = std::get_if<RequestTrace>(&file)) {
    devices.push_back({row_of(replay_requests(*trace, name, {})), {}});
    look_at(*trace, 0, devices.back());
    return devices;
  }
  auto& recording = std::get<Recording>(file);
  for (RecordedDevice& device : recording.devices) {
    devices.push_back(scan_device(recording, device, name));
  }
  return devices;
}

class Scanner {
 public:
  explicit Scanner(ReadingOptions reading)
      : reading_(std::move(reading)), archives_(reading_.expansion) {
    reading_.progress = ReadingProgress::hidden;  // several files are read at once
  }

  std::vector<ScannedDevice> scan(const ScanItem& item) {
    const MemoryGate::Pass pass(gate_, item.unpacked);
    const std::string path = item.path().string();
    ScannedDevice failed;
    failed.row.error = item.error;
    try {
      std::vector<ScannedDevice> devices =
          item.error.empty() ? scan_devices(read(item), path) : std::vector<ScannedDevice>();
      if (!devices.empty()) {
        return devices;
      }
      if (item.error.empty()) {
        failed.row.error = "contains no device with memory or events";
      }
    } catch (const OperationError& error) {
      failed.row.error = error.in(path).what();
    } catch (const Error& error) {
      failed.row.error = error.what();
    } catch (const std::bad_alloc&) {
      failed.row.error = path + ": does not fit in this machine's memory";
    }
    return {failed};
  }

 private:
  TraceFile read(const ScanItem& item) {
    return item.member.empty() ? read_trace_file(item.file.string(), StackMode::keep, reading_)
                               : archives_.read(item, reading_);
  }

  ReadingOptions reading_;
  OpenArchives archives_;
  MemoryGate gate_{kSnapshotBytes};
};

/// Puts names in the place of numbers: those of ten thousand ranks are nearly all the same.
class NameTable {
 public:
  explicit NameTable(std::vector<std::string>& names) : names_(names) {}

  HeldShare share_of(const HeldPart& part) {
    const auto [found, is_new] =
        numbers_.emplace(part.name, static_cast<std::uint32_t>(names_.size()));
    if (is_new) {
      names_.push_back(part.name);
    }
    return {part.by, found->second, part.bytes};
  }

 private:
  std::vector<std::string>& names_;
  std::unordered_map<std::string, std::uint32_t> numbers_;
};

}  // namespace

double Spread::imbalance() const {
  return mean == 0 ? 0 : static_cast<double>(highest.count()) / mean - 1;
}

std::size_t Scan::errors() const {
  return static_cast<std::size_t>(std::ranges::count_if(rows, &ScanRow::is_error));
}

Scan scan_files(const std::filesystem::path& folder, const std::vector<ScanItem>& items,
                ReadingOptions reading, Fleet& fleet) {
  const bool is_inside = std::filesystem::is_directory(folder);
  Scanner scanner(std::move(reading));
  Scan scan;
  NameTable names(scan.names);
  fleet.stream(
      "files", items.size(), [&](PieceNumber i) { return scanner.scan(items[i]); },
      [&](PieceNumber i, std::vector<ScannedDevice>&& devices) {
        const std::filesystem::path path = items[i].path();
        for (ScannedDevice& device : devices) {
          ScanRow& row = scan.rows.emplace_back(std::move(device.row));
          row.file = is_inside ? path.lexically_relative(folder).string() : path.string();
          row.rank = rank_of(items[i]);
          for (const HeldPart& part : device.held) {
            row.held.push_back(names.share_of(part));
          }
        }
      });
  std::ranges::stable_sort(scan.rows, {}, [](const ScanRow& row) {
    return row.rank.value_or(std::numeric_limits<int>::max());
  });
  compare_rows(scan);
  return scan;
}

}  // namespace highwater
