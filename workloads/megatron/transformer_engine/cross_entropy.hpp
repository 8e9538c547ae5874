// Transformer Engine's cross entropy over a split vocabulary.
// Source: pytorch/{cross_entropy,triton/cross_entropy}.py of Transformer Engine 2.11, 2.18
// and 2.20.
#pragma once

#include "traces/release.hpp"
#include "workloads/distributed/process_group.hpp"

namespace highwater::megatron {

/// Of [s, b, v / ranks] logits and [s, b] labels: [s, b] fp32 losses. `release` of Transformer
/// Engine decides where the gradient of the logits is made: before 2.18 in the logits themselves,
/// in 2.18 in an fp32 copy, since then in a copy of their own type.
eager::Tensor engine_cross_entropy(dist::ProcessGroup& ranks, const eager::Tensor& logits,
                                   const eager::Tensor& labels, Release release);

}  // namespace highwater::megatron
