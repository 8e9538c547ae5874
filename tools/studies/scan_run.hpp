// Many snapshots at once: what each rank of a job did, and which ranks differ from the others.
//
// An outlier is a peak whose modified z-score, 0.6745 (x - median) / MAD with MAD the median
// absolute deviation, lies beyond 3.5 (Iglewicz and Hoaglin, "How to Detect and Handle Outliers",
// 1993) and that is more than 1 % off the median. If more than half of the peaks are equal, MAD is
// 0 and only the 1 % rule applies. Fewer than four peaks have no outliers.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "sim/replay/replay_result.hpp"
#include "tools/files/input.hpp"
#include "tools/fleet/fleet.hpp"
#include "traces/units.hpp"

namespace highwater {

/// One device of one file, or a file that could not be read.
struct ScanRow {
  std::string file;         ///< relative to the folder
  std::optional<int> rank;  ///< according to the name of the file or its folder
  int device = 0;
  Usage peak;
  double fragmentation = 0;  ///< 1 - peak active / peak reserved
  std::uint64_t ooms = 0;
  bool truncated = false;
  std::optional<double> fidelity;  ///< share of recorded decisions that the model reproduces
  std::string error;               ///< why there are no numbers; empty otherwise
  bool is_reserved_outlier = false;
  bool is_allocated_outlier = false;

  [[nodiscard]] bool is_error() const { return !error.empty(); }
};

/// The spread of peaks over the rows with numbers.
struct Spread {
  Bytes lowest;
  Bytes median;
  Bytes highest;
  double mean = 0;
  std::size_t highest_row = 0;

  /// How much the highest lies above the mean, 0 when all are equal.
  [[nodiscard]] double imbalance() const;
};

struct Scan {
  std::vector<ScanRow> rows;  ///< by rank where known, then by name and device
  std::optional<Spread> reserved;
  std::optional<Spread> allocated;

  [[nodiscard]] std::size_t errors() const;
};

/// "rank3", "rank_3", "rank-03", "_r12": the number; nothing if no part of the name contains one.
std::optional<int> rank_in(const std::string& name);

/// Trace files below `folder` by their endings (.pickle, .pkl, .hwt, .trace, compressed or not), in
/// order of name. A single file is accepted with any extension.
/// @throws InputError when it does not exist, cannot be read or holds none
std::vector<std::filesystem::path> find_traces(const std::filesystem::path& folder);

/// Replays every file as it was recorded, one file at a time on each core; a file is a piece.
Scan scan_files(const std::filesystem::path& folder,
                const std::vector<std::filesystem::path>& files, ReadingOptions reading,
                Fleet& fleet);

/// Marks outliers and computes the spreads.
void compare_rows(Scan& scan);

}  // namespace highwater
