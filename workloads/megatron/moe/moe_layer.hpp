// MoELayer: a router, the all-to-all token dispatcher, the experts of this rank and those that all
// tokens share.
//
// Source: Megatron-Core 0.16.1, core/transformer/moe/{moe_layer,token_dispatcher,experts,
// shared_experts}.py (MoEAlltoAllTokenDispatcher, SequentialMLP, TEGroupedMLP).
#pragma once

#include <memory>

#include "workloads/megatron/layers/layer_context.hpp"
#include "workloads/megatron/moe/feed_forward.hpp"

namespace highwater::megatron {

/// A mixture called "mlp" as a part of `parent`.
std::unique_ptr<FeedForward> make_moe_layer(nn::Module* parent, const LayerContext& shared);

/// Parameters that only the ranks with the same experts sum (param.allreduce is false).
bool is_expert(const nn::NamedTensor& parameter);

}  // namespace highwater::megatron
