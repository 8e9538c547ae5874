// Compiled programs: an ELF file for one architecture, as NVRTC and ptxas make it (a "cubin").
// NVIDIA documents no layout; what is read here is what ptxas -v of CUDA 13.0 prints for the files
// that it writes for compute capability 8.0, 9.0 and 10.0.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace highwater::fakecuda {

/// What each thread and each block of a kernel takes of a multiprocessor.
struct KernelResources {
  int registers = 0;              ///< of a thread
  std::size_t static_shared = 0;  ///< bytes of a block, without those that the system reserves
};

/// Nothing if the file is no cubin or has no such kernel. `kernel` is its mangled name; `reserved`
/// are the system's bytes of shared memory, which lie in the kernel's own section from compute
/// capability 9.0 on.
std::optional<KernelResources> resources_in(std::string_view cubin, const std::string& kernel,
                                            std::size_t reserved);

}  // namespace highwater::fakecuda
