#include "tools/studies/scan_run.hpp"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cmath>
#include <limits>
#include <tuple>

#include "sim/replay/trace_driver.hpp"
#include "tools/files/input.hpp"
#include "tools/studies/replay_run.hpp"
#include "traces/error.hpp"

namespace highwater {
namespace {

namespace fs = std::filesystem;

bool is_letter(char c) {
  return std::isalpha(static_cast<unsigned char>(c)) != 0;
}

bool is_digit(char c) {
  return std::isdigit(static_cast<unsigned char>(c)) != 0;
}

/// The number at `at`, one separator before it allowed.
std::optional<int> number_at(const std::string& text, std::size_t at) {
  if (at < text.size() && (text[at] == '_' || text[at] == '-' || text[at] == '=')) {
    ++at;
  }
  int number = 0;
  const char* const end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data() + std::min(at, text.size()), end, number);
  return error == std::errc{} && at < text.size() && is_digit(text[at]) ? std::optional(number)
                                                                        : std::nullopt;
}

bool is_trace_name(fs::path path) {
  for (const std::string_view ending : {".gz", ".xz", ".zst"}) {
    if (path.extension() == ending) {
      path.replace_extension();
      break;
    }
  }
  const std::string ending = path.extension().string();
  return ending == ".pickle" || ending == ".pkl" || ending == ".hwt" || ending == ".trace";
}

double share(const Fidelity& f) {
  const std::uint64_t compared =
      f.alloc_addresses_compared + f.segment_events_recorded + f.final_segments_compared;
  const std::uint64_t matched =
      f.alloc_addresses_matched + f.segment_events_matched + f.final_segments_matched;
  return compared == 0 ? 1 : static_cast<double>(matched) / static_cast<double>(compared);
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

std::vector<ScanRow> read_rows(const std::string& path, const ReadingOptions& reading) {
  std::vector<ScanRow> rows;
  ScanRow failed;
  try {
    for (const DeviceReplay& replay :
         run_replays(read_trace_file(path, StackMode::skip, reading), path, {})) {
      rows.push_back(row_of(replay));
    }
    if (!rows.empty()) {
      return rows;
    }
    failed.error = "contains no device with memory or events";
  } catch (const OperationError& error) {
    failed.error = error.in(path).what();
  } catch (const Error& error) {
    failed.error = error.what();
  } catch (const std::bad_alloc&) {
    failed.error = path + ": does not fit in this machine's memory";
  }
  rows.push_back(failed);
  return rows;
}

std::optional<int> rank_of(const fs::path& file) {
  const auto by_name = rank_in(file.filename().string());
  return by_name ? by_name : rank_in(file.parent_path().filename().string());
}

double median_of(std::vector<double> values) {
  const std::size_t middle = values.size() / 2;
  std::ranges::sort(values);
  return values.size() % 2 == 1 ? values[middle] : (values[middle - 1] + values[middle]) / 2;
}

std::vector<double> values_of(const Scan& scan, Bytes Usage::*figure) {
  std::vector<double> values;
  for (const ScanRow& row : scan.rows) {
    if (!row.is_error()) {
      values.push_back(static_cast<double>((row.peak.*figure).count()));
    }
  }
  return values;
}

std::optional<Spread> spread_of(const Scan& scan, Bytes Usage::*figure) {
  const std::vector<double> values = values_of(scan, figure);
  if (values.empty()) {
    return std::nullopt;
  }
  Spread spread;
  spread.lowest = Bytes{std::numeric_limits<std::uint64_t>::max()};
  for (std::size_t i = 0; i < scan.rows.size(); ++i) {
    const Bytes value = scan.rows[i].peak.*figure;
    if (scan.rows[i].is_error()) {
      continue;
    }
    spread.lowest = std::min(spread.lowest, value);
    if (value > spread.highest) {
      spread.highest = value;
      spread.highest_row = i;
    }
    spread.mean += static_cast<double>(value.count()) / static_cast<double>(values.size());
  }
  spread.median = Bytes{static_cast<std::uint64_t>(median_of(values))};
  return spread;
}

void mark_outliers(Scan& scan, Bytes Usage::*figure, bool ScanRow::*mark) {
  constexpr double kFewest = 4;
  constexpr double kScore = 3.5;
  constexpr double kNormal = 0.6745;  // quartile of the normal distribution: MAD as a deviation
  constexpr double kNoise = 0.01;
  const std::vector<double> values = values_of(scan, figure);
  if (static_cast<double>(values.size()) < kFewest) {
    return;
  }
  const double median = median_of(values);
  std::vector<double> deviations;
  for (const double value : values) {
    deviations.push_back(std::abs(value - median));
  }
  const double mad = median_of(deviations);
  for (ScanRow& row : scan.rows) {
    const double off = std::abs(static_cast<double>((row.peak.*figure).count()) - median);
    row.*mark = !row.is_error() && off > kNoise * median && kNormal * off > kScore * mad;
  }
}

}  // namespace

double Spread::imbalance() const {
  return mean == 0 ? 0 : static_cast<double>(highest.count()) / mean - 1;
}

std::size_t Scan::errors() const {
  return static_cast<std::size_t>(std::ranges::count_if(rows, &ScanRow::is_error));
}

std::optional<int> rank_in(const std::string& name) {
  std::string text = name;
  std::ranges::transform(text, text.begin(),
                         [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  for (const std::string_view word : {"rank", "r"}) {
    for (std::size_t at = text.find(word); at != std::string::npos; at = text.find(word, at + 1)) {
      const bool begins_word = at == 0 || !is_letter(text[at - 1]);
      const auto number = number_at(text, at + word.size());
      if (begins_word && number) {
        return number;
      }
    }
  }
  return std::nullopt;
}

std::vector<fs::path> find_traces(const fs::path& folder) {
  std::error_code error;
  const fs::file_status status = fs::status(folder, error);
  if (!fs::exists(status)) {
    throw InputError(folder.string(), "", "does not exist", "name a folder with snapshots");
  }
  if (!fs::is_directory(status)) {
    return {folder};
  }
  std::vector<fs::path> files;
  fs::recursive_directory_iterator it(folder, fs::directory_options::skip_permission_denied, error);
  for (; !error && it != fs::recursive_directory_iterator(); it.increment(error)) {
    if (it->is_regular_file(error) && is_trace_name(it->path())) {
      files.push_back(it->path());
    }
  }
  if (error) {
    throw InputError(folder.string(), "", "cannot be read: " + error.message(),
                     "check its permissions");
  }
  if (files.empty()) {
    throw InputError(folder.string(), "", "contains no .pickle, .pkl, .hwt or .trace file",
                     "name the folder that the snapshots were written to");
  }
  std::ranges::sort(files);
  return files;
}

Scan scan_files(const fs::path& folder, const std::vector<fs::path>& files, ReadingOptions reading,
                Fleet& fleet) {
  reading.progress = ReadingProgress::hidden;  // several files are read at once
  const bool is_inside = fs::is_directory(folder);
  Scan scan;
  fleet.stream(
      "files", files.size(), [&](PieceNumber i) { return read_rows(files[i].string(), reading); },
      [&](PieceNumber i, std::vector<ScanRow>&& rows) {
        for (ScanRow& row : rows) {
          row.file = is_inside ? files[i].lexically_relative(folder).string() : files[i].string();
          row.rank = rank_of(files[i]);
          scan.rows.push_back(std::move(row));
        }
      });
  std::ranges::stable_sort(scan.rows, {}, [](const ScanRow& row) {
    return row.rank.value_or(std::numeric_limits<int>::max());
  });
  compare_rows(scan);
  return scan;
}

void compare_rows(Scan& scan) {
  mark_outliers(scan, &Usage::reserved, &ScanRow::is_reserved_outlier);
  mark_outliers(scan, &Usage::allocated, &ScanRow::is_allocated_outlier);
  scan.reserved = spread_of(scan, &Usage::reserved);
  scan.allocated = spread_of(scan, &Usage::allocated);
}

}  // namespace highwater
