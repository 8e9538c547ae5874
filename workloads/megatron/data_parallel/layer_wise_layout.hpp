// The buffer of the matrices that Megatron-Core's layer-wise distributed optimizer updates by Muon,
// which needs whole ones: each bucket has equal parts for all ranks, and a parameter lies in one.
//
// Source: Megatron-Core 0.19.2, core/optimizer/layer_wise_optimizer.py
// (_compute_per_buffer_param_layout) and param_layout.py.
#pragma once

#include "workloads/megatron/data_parallel/param_and_grad_buffer.hpp"

namespace highwater::megatron {

/// A bucket's parameters, the largest first, each go to the rank that has least so far.
BufferLayout layer_wise_layout(std::span<const std::int64_t> sizes, const BufferRules& rules);

}  // namespace highwater::megatron
