// NVIDIA's own NVRTC, where FAKE_CUDNN_COMPILER names it: asked what a kernel takes of a
// multiprocessor once it is compiled, which only a compiler knows.
#pragma once

#include <optional>
#include <string>

#include "tools/record/fakecuda/kernels/cubin.hpp"
#include "tools/record/fakecuda/kernels/runtime_programs.hpp"

namespace highwater::fakecuda {

/// What `kernel` of the program takes when compiled for the architecture that its options name.
/// `kernel` is one of the program's expressions, or the plain name of a kernel. Each is compiled
/// once in a process, in about a second. Nothing if there is no such library, or it refuses.
std::optional<KernelResources> compiled_resources(const RuntimeProgram& program,
                                                  const std::string& kernel);

}  // namespace highwater::fakecuda
