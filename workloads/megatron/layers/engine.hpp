// Whose layers the model is made of (--transformer-impl), and the linear layers that follow.
// Source: Megatron-Core 0.16.1, core/models/backends.py (LocalSpecProvider), core/extensions/
// transformer_engine_spec_provider.py.
#pragma once

#include <memory>
#include <string>

#include "workloads/megatron/layers/layer_context.hpp"
#include "workloads/megatron/layers/layers.hpp"

namespace highwater::megatron {

/// Whether layers are Transformer Engine's.
bool uses_engine(const nn::ModelContext& context);

/// The layer that follows a norm; Transformer Engine's contains the norm.
std::unique_ptr<SplitLinear> make_first_linear(nn::Module* parent, std::string name,
                                               const LayerContext& shared, LinearSize size,
                                               SplitBias bias);

/// A layer of a part of the columns whose input somebody else has normalized; without a bias.
std::unique_ptr<SplitLinear> make_column_linear(nn::Module* parent, std::string name,
                                                const LayerContext& shared, LinearSize size);

/// The layer before a residual sum, of `in` rows in all.
std::unique_ptr<SplitLinear> make_last_linear(nn::Module* parent, std::string name,
                                              const LayerContext& shared, std::int64_t in);

}  // namespace highwater::megatron
