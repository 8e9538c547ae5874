// Attributes of kernels and occupancy.
#include "tools/record/fakecuda/api.hpp"
#include "tools/record/fakecuda/core/attributes.hpp"
#include "tools/record/fakecuda/core/settings.hpp"
#include "tools/record/fakecuda/cudart/errors.hpp"

namespace highwater::fakecuda {

namespace {

// PyTorch's wheels have no code for 8.9, whose GPUs run that for 8.6 (.ci/manywheel/build_cuda.sh
// TORCH_CUDA_ARCH_LIST, 2.6 and 2.15); CUB refuses versions that it was not compiled for.
int code_version(int major, int minor) {
  const int version = major * 10 + minor;
  return version == 89 ? 86 : version;
}

}  // namespace

// CUB picks its tuning policy, hence its scratch sizes, by the two versions.
FAKECUDA_API abi::Error cudaFuncGetAttributes(abi::FuncAttributes* attributes, const void*) {
  const int version = code_version(settings().gpu.major, settings().gpu.minor);
  *attributes = {.max_threads_per_block = 1024,
                 .num_regs = 32,
                 .ptx_version = version,
                 .binary_version = version,
                 .max_dynamic_shared_size_bytes = 49152,
                 .preferred_shmem_carveout = -1};
  return abi::kSuccess;
}

FAKECUDA_API abi::Error cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(
    int* blocks, const void*, int threads, std::size_t shared, unsigned) {
  *blocks = resident_blocks(threads, shared);
  return abi::kSuccess;
}

FAKECUDA_API abi::Error cudaOccupancyMaxActiveBlocksPerMultiprocessor(int* blocks, const void*,
                                                                      int threads,
                                                                      std::size_t shared) {
  *blocks = resident_blocks(threads, shared);
  return abi::kSuccess;
}

FAKECUDA_API abi::Error cudaOccupancyMaxActiveClusters(int* clusters, const void*,
                                                       const abi::LaunchConfig*) {
  *clusters = settings().gpu.multiprocessors;
  return abi::kSuccess;
}

}  // namespace highwater::fakecuda
