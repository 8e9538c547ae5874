// The clocks of a GPU, on which cuDNN's heuristics for Hopper depend.
#pragma once

#include <optional>

#include "workloads/plan/gpu.hpp"

namespace highwater {

/// The highest, in MHz, as CUDA reports them.
struct GpuClocks {
  int multiprocessors = 0;
  int memory = 0;
};

/// `clocks` of the GPU's row in gpus.json, where it has some.
std::optional<GpuClocks> clocks_of(const Gpu& gpu);

}  // namespace highwater
