// The GPUs whose kernels were recorded.
//
// The numbers that these tests expect are from PyTorch 2.6.0 (CUDA 12.4) on the fake devices
// a100-80, h100-80 and v100-16: the operator was called alone with memory history on, and the sizes
// are those of the history. Those of newer releases are from recorded training runs
// (tools/python/measure). None was computed by the code under test.
#pragma once

#include <cstdint>
#include <vector>

#include "workloads/plan/gpu.hpp"

namespace highwater::test {

using Sizes = std::vector<std::int64_t>;

inline Gpu gpu_of(int major, int multiprocessors) {
  Gpu made{};
  made.major = major;
  made.multiprocessors = multiprocessors;
  made.max_threads_per_multiprocessor = 2048;
  return made;
}

inline const Gpu kA100 = gpu_of(8, 108);
inline const Gpu kH100 = gpu_of(9, 132);
inline const Gpu kV100 = gpu_of(7, 80);

}  // namespace highwater::test
