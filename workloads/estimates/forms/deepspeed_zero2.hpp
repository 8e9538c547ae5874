// DeepSpeed's estimate of ZeRO-2's model states, in its three published versions.
#pragma once

#include "workloads/estimates/forms/deepspeed.hpp"

namespace highwater {

/// Which version: the documentation's tables; the code until 2024, whose host figure counts the
/// GPUs of all nodes; the code since change #5099 (June 2024), which also shards the gradients.
enum class DeepspeedZero2Rule : std::uint8_t { docs, code, code_current };

/// Bytes for `parameters` (P) under ZeRO-2, states on the GPUs or, offloaded, in host memory.
/// Source: deepspeed/runtime/zero/stage_1_and_2.py, estimate_zero2_model_states_mem_needs.
DeepspeedEstimate deepspeed_zero2(double parameters, const DeepspeedJob& job,
                                  DeepspeedZero2Rule rule, bool offload_optimizer);

extern const Formula kDeepspeedZero2;
extern const Formula kDeepspeedZero2Current;

}  // namespace highwater
