// The fake GPU's properties: FAKE_CUDA_GPU, completed by CUDA's limits per compute capability.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace highwater::fakecuda {

/// The properties that decide buffer sizes, kernel choices and whether a program fits.
struct GpuProfile {
  std::string name = "NVIDIA A100-SXM4-80GB";
  int major = 8;  ///< compute capability
  int minor = 0;
  int multiprocessors = 108;
  std::uint64_t memory = 81050ULL << 20;  ///< bytes: totalGlobalMem
  int clock_megahertz = 1410;             ///< of the multiprocessors; only cuDNN depends on clocks
  int memory_clock_megahertz = 1593;
  int threads_per_multiprocessor = 0;  ///< the rest: 0 until completed
  int blocks_per_multiprocessor = 0;
  std::uint64_t l2_bytes = 0;
  std::uint64_t shared_per_multiprocessor = 0;  ///< bytes
  std::uint64_t shared_per_block = 0;           ///< bytes, with opt-in
};

/// Reads "name=NVIDIA H100 80GB HBM3;major=9;minor=0;multiprocessors=132;memory=84943044608".
/// Further keys: clock, memory_clock (MHz), threads, blocks, l2, shared_sm, shared_block; omitted
/// ones follow from the compute capability. Without text: an A100 with 80 GB. Ends the process on a
/// key, value or capability it does not know (see reject_environment()).
GpuProfile gpu_profile(std::string_view text);

}  // namespace highwater::fakecuda
