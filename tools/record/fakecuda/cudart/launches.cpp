// Kernels: registration by nvcc's start-up code, and launches.
#include "tools/record/fakecuda/core/launches.hpp"

#include <vector>

#include "tools/record/fakecuda/api.hpp"
#include "tools/record/fakecuda/cudart/errors.hpp"

namespace highwater::fakecuda {
namespace {

struct CallConfiguration {
  abi::Dim3 grid, block;
  std::size_t shared;
  abi::Handle stream;
};

// What <<<...>>> pushed and the kernel's host stub has not yet popped. Leaked with its thread: a
// destructor could run before the last launch of an exiting process.
std::vector<CallConfiguration>& pushed() {
  thread_local auto* const made = new std::vector<CallConfiguration>;
  return *made;
}

Extent3 extent(abi::Dim3 dim) {
  return {dim.x, dim.y, dim.z};
}

}  // namespace

FAKECUDA_API void** __cudaRegisterFatBinary(void*) {
  static void* handle[4];
  return handle;
}

FAKECUDA_API void __cudaRegisterFatBinaryEnd(void**) {}

FAKECUDA_API void __cudaUnregisterFatBinary(void**) {}

FAKECUDA_API char __cudaInitModule(void**) {
  return 1;
}

FAKECUDA_API void __cudaRegisterFunction(void**, const char* host, char*, const char* name, int,
                                         void*, void*, void*, void*, int*) {
  name_kernel(host, name);
}

FAKECUDA_API unsigned __cudaPushCallConfiguration(abi::Dim3 grid, abi::Dim3 block,
                                                  std::size_t shared, abi::Handle stream) {
  pushed().push_back({grid, block, shared, stream});
  return 0;
}

FAKECUDA_API abi::Error __cudaPopCallConfiguration(abi::Dim3* grid, abi::Dim3* block,
                                                   std::size_t* shared, abi::Handle* stream) {
  if (pushed().empty()) {
    return fail(abi::kErrorMissingConfiguration);
  }
  const CallConfiguration call = pushed().back();
  pushed().pop_back();
  *grid = call.grid;
  *block = call.block;
  *shared = call.shared;
  *stream = call.stream;
  return abi::kSuccess;
}

FAKECUDA_API abi::Error cudaLaunchKernel(const void* kernel, abi::Dim3 grid, abi::Dim3 block,
                                         void**, std::size_t, abi::Handle) {
  launch_kernel(kernel, extent(grid), extent(block));
  return abi::kSuccess;
}

FAKECUDA_API abi::Error cudaLaunchCooperativeKernel(const void* kernel, abi::Dim3 grid,
                                                    abi::Dim3 block, void**, std::size_t,
                                                    abi::Handle) {
  launch_kernel(kernel, extent(grid), extent(block));
  return abi::kSuccess;
}

FAKECUDA_API abi::Error cudaLaunchKernelExC(const abi::LaunchConfig* config, const void* kernel,
                                            void**) {
  launch_kernel(kernel, extent(config->grid), extent(config->block));
  return abi::kSuccess;
}

// CUDA 13's host stubs launch by a handle that they ask for once; here it is the stub's address.
FAKECUDA_API abi::Error __cudaGetKernel(const void** kernel, const void* host) {
  *kernel = host;
  return abi::kSuccess;
}

FAKECUDA_API abi::Error cudaGetKernel(const void** kernel, const void* host) {
  return __cudaGetKernel(kernel, host);
}

FAKECUDA_API abi::Error __cudaLaunchKernel(const void* kernel, abi::Dim3 grid, abi::Dim3 block,
                                           void**, std::size_t, abi::Handle) {
  launch_kernel(kernel, extent(grid), extent(block));
  return abi::kSuccess;
}

}  // namespace highwater::fakecuda
