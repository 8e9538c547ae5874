// Triton's autotuner, which measures a kernel's variants before the first of its launches.
// Source: Triton 3.9, python/triton/{testing,runtime/autotuner}.py, backends/nvidia/driver.py.
#pragma once

#include <string_view>

#include "workloads/eager/runtime.hpp"

namespace highwater::megatron {

/// Measures `kernel` unless it has been: a buffer as large as the GPU's cache is taken and freed.
/// `kernel` names what the autotuner tells apart; `restored` is what it writes in place, a copy of
/// which is made for each launch, or undefined.
void tune(eager::Runtime& runtime, std::string_view kernel, const eager::Tensor& restored = {});

}  // namespace highwater::megatron
