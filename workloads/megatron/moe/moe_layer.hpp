// MoELayer: a router, the all-to-all token dispatcher and the experts of this rank, one MLP after
// the other.
//
// Source: Megatron-Core 0.16.1, core/transformer/moe/{moe_layer,token_dispatcher,experts}.py
// (MoEAlltoAllTokenDispatcher, SequentialMLP) without permute fusion, and moe_utils.py (permute,
// unpermute, sort_chunks_by_idxs).
#pragma once

#include <memory>

#include "workloads/megatron/layers/expert_parallel.hpp"
#include "workloads/megatron/moe/feed_forward.hpp"

namespace highwater::megatron {

/// A mixture called "mlp" as a part of `parent`. All must outlive it.
std::unique_ptr<FeedForward> make_moe_layer(nn::Module* parent, const Config& config,
                                            TensorParallel& tp, ExpertParallel& experts);

/// Parameters that only the ranks with the same experts sum (param.allreduce is false).
bool is_expert(const nn::NamedTensor& parameter);

}  // namespace highwater::megatron
