// Many snapshots at once: what each rank of a job did, and which ranks differ from the others, in
// what.
//
// Snapshots are read one at a time on each core, within a bound on what they take together
// (memory_gate.hpp). Of each a row stays, a kilobyte or two, so that memory hardly depends on how
// many there are.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "sim/replay/replay_result.hpp"
#include "tools/files/input.hpp"
#include "tools/fleet/fleet.hpp"
#include "tools/studies/scan/held_memory.hpp"
#include "tools/studies/scan/scan_items.hpp"
#include "traces/units.hpp"

namespace highwater {

/// A HeldPart whose name is one of Scan::names.
struct HeldShare {
  HeldBy by = HeldBy::site;
  std::uint32_t name = 0;
  Bytes bytes;
};

/// One device of one file, or a file that could not be read.
struct ScanRow {
  std::string file;         ///< relative to the folder
  std::optional<int> rank;  ///< according to the name of the file or its folder
  int device = 0;
  Usage peak;
  double fragmentation = 0;  ///< 1 - peak active / peak reserved
  std::uint64_t ooms = 0;
  bool truncated = false;
  /// The share of recorded decisions that the model reproduces; absent where none were recorded.
  std::optional<double> fidelity;
  StepGrowth growth;
  std::vector<HeldShare> held;  ///< at the highest live bytes
  std::string error;            ///< why there are no numbers; empty otherwise
  bool is_reserved_outlier = false;
  bool is_allocated_outlier = false;
  bool is_growth_outlier = false;  ///< grows from step to step, unlike the others

  [[nodiscard]] bool is_error() const { return !error.empty(); }

  [[nodiscard]] bool is_outlier() const {
    return is_reserved_outlier || is_allocated_outlier || is_growth_outlier;
  }
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

/// What an outlier holds more or less of than the others.
struct RankDifference {
  std::size_t row = 0;
  HeldBy by = HeldBy::site;
  std::uint32_t name = 0;
  Bytes bytes;  ///< of this row
  Bytes usual;  ///< the median over all rows with numbers, 0 where a row does not list it

  [[nodiscard]] Bytes amount() const { return bytes > usual ? bytes - usual : usual - bytes; }
};

struct Scan {
  std::vector<ScanRow> rows;  ///< by rank where known, then by name and device
  std::optional<Spread> reserved;
  std::optional<Spread> allocated;
  std::vector<std::string> names;  ///< of parts: categories, phases, sites
  std::vector<RankDifference> differences;

  [[nodiscard]] std::size_t errors() const;
};

/// Replays every snapshot as it was recorded; a snapshot is a piece.
Scan scan_files(const std::filesystem::path& folder, const std::vector<ScanItem>& items,
                ReadingOptions reading, Fleet& fleet);

}  // namespace highwater
