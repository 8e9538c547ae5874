// DeepSpeed's estimate of ZeRO-3's model states.
#pragma once

#include "workloads/estimates/forms/deepspeed.hpp"

namespace highwater {

/// What lives in host memory. The source does not offload parameters without optimizer states.
enum class DeepspeedOffload : std::uint8_t { none, optimizer, both };

/// Bytes for `parameters` (P) of which the largest single module owns `largest_layer`
/// (largest_layer_params). `zero_init`: the model is made under deepspeed.zero.Init, so no process
/// ever holds it whole. Source: deepspeed/runtime/zero/stage3.py,
/// estimate_zero3_model_states_mem_needs.
DeepspeedEstimate deepspeed_zero3(double parameters, double largest_layer, const DeepspeedJob& job,
                                  DeepspeedOffload offload, bool zero_init);

extern const Formula kDeepspeedZero3;

}  // namespace highwater
