// Modules of kernels compiled at run time (nvrtc, Triton): any image loads, any function is found.
#include <cstddef>
#include <deque>
#include <memory>
#include <string>

#include "tools/record/fakecuda/abi/driver.hpp"
#include "tools/record/fakecuda/api.hpp"
#include "tools/record/fakecuda/core/attributes.hpp"
#include "tools/record/fakecuda/core/launches.hpp"
#include "tools/record/fakecuda/core/lock.hpp"
#include "tools/record/fakecuda/core/settings.hpp"
#include "tools/record/fakecuda/kernels/real_compiler.hpp"
#include "tools/record/fakecuda/kernels/runtime_programs.hpp"

namespace highwater::fakecuda {
namespace {

/// A module has no contents, unless its image comes from the fake NVRTC.
struct Module {
  std::shared_ptr<const RuntimeProgram> program;
};

struct Function {
  const Module* module;
  std::string name;
};

// Kept forever, as are functions: a kernel may be launched after an exiting program has unloaded
// its module.
Module* new_module(std::shared_ptr<const RuntimeProgram> program) {
  static auto* const modules = new std::deque<Module>;
  const auto hold = hold_state();
  modules->push_back({std::move(program)});
  return &modules->back();
}

Module* foreign_module() {
  static Module* const module = new_module(nullptr);
  return module;
}

Function* new_function(const Module* module, const char* name) {
  static auto* const functions = new std::deque<Function>;
  const auto hold = hold_state();
  functions->push_back({module, name});
  return &functions->back();
}

abi::Result load(Module** module, const void* image) {
  auto program = program_of(image);
  *module = program == nullptr ? foreign_module() : new_module(std::move(program));
  return abi::kResultSuccess;
}

std::optional<KernelResources> resources(const Function* function) {
  return function == nullptr || function->module->program == nullptr
             ? std::nullopt
             : compiled_resources(*function->module->program, function->name);
}

}  // namespace

FAKECUDA_API abi::Result cuModuleLoad(Module** module, const char*) {
  return load(module, nullptr);
}

FAKECUDA_API abi::Result cuModuleLoadData(Module** module, const void* image) {
  return load(module, image);
}

FAKECUDA_API abi::Result cuModuleLoadDataEx(Module** module, const void* image, unsigned, int*,
                                            void**) {
  return load(module, image);
}

FAKECUDA_API abi::Result cuModuleLoadFatBinary(Module** module, const void*) {
  return load(module, nullptr);
}

FAKECUDA_API abi::Result cuLibraryLoadData(Module** library, const void* image, int*, void**,
                                           unsigned, int*, void**, unsigned) {
  return load(library, image);
}

FAKECUDA_API abi::Result cuModuleGetFunction(Function** function, const Module* module,
                                             const char* name) {
  *function = new_function(module, name);
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

FAKECUDA_API abi::Result cuOccupancyMaxActiveBlocksPerMultiprocessor(int* blocks,
                                                                     const Function* function,
                                                                     int threads,
                                                                     std::size_t shared) {
  const auto known = resources(function);
  *blocks = known ? resident_blocks(threads, shared, *known) : resident_blocks(threads, shared);
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
