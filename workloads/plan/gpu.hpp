// The GPUs a plan can name: the properties that determine the sizes of buffers and whether a run
// fits.
#pragma once

#include <span>
#include <string_view>

#include "traces/units.hpp"

namespace highwater {

/// One GPU model, as cudaGetDeviceProperties describes it.
struct Gpu {
  std::string_view name;         ///< as on the command line: "a100-80"
  std::string_view description;  ///< "NVIDIA A100 80GB"
  Bytes total_memory;            ///< totalGlobalMem: what torch reports, a little below nominal
  int major = 0;                 ///< compute capability
  int minor = 0;
  int multiprocessors = 0;
  int max_threads_per_multiprocessor = 0;
  std::string_view source;  ///< where the figures come from
};

/// All known GPUs, in the order in which `--help` lists them.
std::span<const Gpu> known_gpus();

/// The GPU called `name` (case-insensitive, common spellings), or nullptr.
const Gpu* find_gpu(std::string_view name);

/// The GPU assumed if a plan does not name one: an A100 with 80 GB (81,050 MiB, 8.0, 108 SMs).
const Gpu& default_gpu();

}  // namespace highwater
