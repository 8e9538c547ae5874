// The F.linear that deepspeed.zero.Init() installs for the rest of the program. It saves the
// parameter instead of a view of it, so that a released weight is gone.
//
// Mirrors LinearFunctionForZeroStage3 (DeepSpeed 0.16.4, runtime/zero/linear.py), which the option
// memory_efficient_linear, on by default, puts in its place. In 0.19.8 ZeRO-3 also installs it
// where the script made the model itself.
#pragma once

#include "workloads/eager/tensor.hpp"

namespace highwater {
struct TrainingPlan;
}

namespace highwater::nn {

/// Whether deepspeed.zero.Init() partitions the model as it is made; transformers leaves it out for
/// a quantised one (5.24, modeling_utils.py get_init_context).
bool partitions_as_made(const TrainingPlan& plan);

/// Whether the function is installed.
bool replaces_linear(const TrainingPlan& plan);

/// `bias` may be undefined.
eager::Tensor zero3_linear(const eager::Tensor& input, const eager::Tensor& weight,
                           const eager::Tensor& bias);

}  // namespace highwater::nn
