// Modules of kernels compiled at run time (nvrtc, Triton): any image loads, any function is found.
#include <cstddef>
#include <deque>

#include "tools/record/fakecuda/abi/driver.hpp"
#include "tools/record/fakecuda/api.hpp"
#include "tools/record/fakecuda/core/attributes.hpp"
#include "tools/record/fakecuda/core/launches.hpp"
#include "tools/record/fakecuda/core/lock.hpp"
#include "tools/record/fakecuda/core/settings.hpp"

namespace highwater::fakecuda {
namespace {

/// A module has no contents.
struct Module {};

struct Function {
  const Module* module;
};

Module* the_module() {
  static Module module;
  return &module;
}

// Kept forever: a kernel may be launched after an exiting program has unloaded its module.
Function* new_function(const Module* module) {
  static auto* const functions = new std::deque<Function>;
  const auto hold = hold_state();
  functions->push_back({module});
  return &functions->back();
}

abi::Result load(Module** module) {
  *module = the_module();
  return abi::kResultSuccess;
}

}  // namespace

FAKECUDA_API abi::Result cuModuleLoad(Module** module, const char*) {
  return load(module);
}

FAKECUDA_API abi::Result cuModuleLoadData(Module** module, const void*) {
  return load(module);
}

FAKECUDA_API abi::Result cuModuleLoadDataEx(Module** module, const void*, unsigned, int*, void**) {
  return load(module);
}

FAKECUDA_API abi::Result cuModuleLoadFatBinary(Module** module, const void*) {
  return load(module);
}

FAKECUDA_API abi::Result cuLibraryLoadData(Module** library, const void*, int*, void**, unsigned,
                                           int*, void**, unsigned) {
  return load(library);
}

FAKECUDA_API abi::Result cuModuleGetFunction(Function** function, const Module* module,
                                             const char* name) {
  *function = new_function(module);
  name_kernel(*function, name);
  return abi::kResultSuccess;
}

FAKECUDA_API abi::Result cuLibraryGetKernel(Function** kernel, const Module* library,
                                            const char* name) {
  return cuModuleGetFunction(kernel, library, name);
}

FAKECUDA_API abi::Result cuKernelGetFunction(Function** function, Function* kernel) {
  *function = kernel;
  return abi::kResultSuccess;
}

FAKECUDA_API abi::Result cuFuncGetModule(const Module** module, const Function* function) {
  *module = function->module;
  return abi::kResultSuccess;
}

FAKECUDA_API abi::Result cuFuncGetAttribute(int* value, int attribute, const Function*) {
  switch (attribute) {
    case abi::kFunctionMaxThreadsPerBlock:
      *value = 1024;
      break;
    case abi::kFunctionNumRegs:
      *value = 32;
      break;
    case abi::kFunctionPtxVersion:
    case abi::kFunctionBinaryVersion:
      *value = settings().gpu.major * 10 + settings().gpu.minor;
      break;
    default:
      *value = 0;
  }
  return abi::kResultSuccess;
}

FAKECUDA_API abi::Result cuKernelGetAttribute(int* value, int attribute, const Function* kernel,
                                              int) {
  return cuFuncGetAttribute(value, attribute, kernel);
}

FAKECUDA_API abi::Result cuOccupancyMaxActiveBlocksPerMultiprocessor(int* blocks, const Function*,
                                                                     int threads,
                                                                     std::size_t shared) {
  *blocks = resident_blocks(threads, shared);
  return abi::kResultSuccess;
}

FAKECUDA_API abi::Result cuOccupancyMaxActiveClusters(int* clusters, const Function*,
                                                      const abi::DriverLaunchConfig*) {
  *clusters = settings().gpu.multiprocessors;
  return abi::kResultSuccess;
}

FAKECUDA_API abi::Result cuLaunchKernel(const Function* function, unsigned grid_x, unsigned grid_y,
                                        unsigned grid_z, unsigned block_x, unsigned block_y,
                                        unsigned block_z, unsigned, abi::Handle, void**, void**) {
  launch_kernel(function, {grid_x, grid_y, grid_z}, {block_x, block_y, block_z});
  return abi::kResultSuccess;
}

FAKECUDA_API abi::Result cuLaunchCooperativeKernel(const Function* function, unsigned grid_x,
                                                   unsigned grid_y, unsigned grid_z,
                                                   unsigned block_x, unsigned block_y,
                                                   unsigned block_z, unsigned, abi::Handle,
                                                   void**) {
  launch_kernel(function, {grid_x, grid_y, grid_z}, {block_x, block_y, block_z});
  return abi::kResultSuccess;
}

FAKECUDA_API abi::Result cuLaunchKernelEx(const abi::DriverLaunchConfig* config,
                                          const Function* function, void**, void**) {
  launch_kernel(function, {config->grid_x, config->grid_y, config->grid_z},
                {config->block_x, config->block_y, config->block_z});
  return abi::kResultSuccess;
}

// The linked program is never looked into.
FAKECUDA_API abi::Result cuLinkComplete(Module*, void** cubin, std::size_t* size) {
  static char nothing[16];
  *cubin = nothing;
  *size = sizeof nothing;
  return abi::kResultSuccess;
}

}  // namespace highwater::fakecuda
