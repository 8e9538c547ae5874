// The F.linear that deepspeed.zero.Init() installs for the rest of the program.
//
// Mirrors LinearFunctionForZeroStage3 (DeepSpeed 0.16.4, runtime/zero/linear.py), which the option
// memory_efficient_linear, on by default, puts in its place.
#pragma once

#include "workloads/eager/tensor.hpp"

namespace highwater::nn {

/// `bias` may be undefined.
eager::Tensor zero3_linear(const eager::Tensor& input, const eager::Tensor& weight,
                           const eager::Tensor& bias);

}  // namespace highwater::nn
