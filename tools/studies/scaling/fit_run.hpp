// Fits a program to recordings: reads them with the values of their integers, finds the formulas,
// and replays the program at every recording to see whether it gives it again.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "tools/files/input.hpp"
#include "traces/scalable_program.hpp"
#include "workloads/plan/gpu.hpp"

namespace highwater {

/// A recording, and what the command line says of its integers; otherwise the batch and the length
/// that `highwater record` has noted in it.
struct FitFile {
  std::string path;
  NamedIntegers given;
};

struct FitRequest {
  std::vector<FitFile> files;
  std::optional<int> device;
  const Gpu* gpu = nullptr;  ///< of the recordings, where they do not say
  ReadingOptions reading;
};

struct FittedFiles {
  ScalableProgram program;
  std::vector<std::string> notes;  ///< integers that are the same everywhere, an unknown GPU
};

/// @throws UsageError, InputError
FittedFiles fit_files(const FitRequest& request);

/// Peaks in the order of PeakBytes.
PeakBytes peak_bytes(const struct Usage& usage);

}  // namespace highwater
