// Simulates a program of `highwater fit` at values of its integers, or finds the largest value of
// one of them that fits.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "sim/peak/peak_place.hpp"
#include "sim/replay/phase_peaks.hpp"
#include "sim/scaling/extent.hpp"
#include "tools/files/program_file.hpp"
#include "tools/files/program_warnings.hpp"
#include "tools/studies/runs/memory_request.hpp"
#include "tools/studies/runs/replay_run.hpp"
#include "tools/studies/runs/value_search.hpp"

namespace highwater {

struct ScaledRequest {
  std::string file;
  std::shared_ptr<const ScalableProgram> program;
  NamedIntegers values;                ///< all but the one that is looked for
  std::optional<std::string> largest;  ///< the integer whose largest value that fits is looked for
  std::optional<std::uint64_t> steps;
  MemoryRequest memory;
};

/// Peaks with the estimated sizes as small and as large as they may be.
struct PeakRange {
  Usage smallest;
  Usage largest;
};

struct ScaledRun {
  std::string file;
  std::shared_ptr<const ScalableProgram> program;
  Values values;
  Extent extent;
  std::vector<ProgramWarning> warnings;
  DeviceReplay replay;
  PhasePeaks peaks;
  std::optional<PeakPlace> place;       ///< of the highest allocated
  std::optional<PeakRange> range;       ///< where sizes are estimated
  std::optional<std::string> searched;  ///< the integer that `search` is about
  std::optional<ValueSearch> search;
  std::uint64_t steps = 0;

  [[nodiscard]] bool fits() const { return replay.result.counts.ooms == 0; }
};

/// @throws UsageError
ScaledRun simulate_scaled(const ScaledRequest& request);

}  // namespace highwater
