// The experts of one rank: MLPs whose results are weighted by the tokens' probabilities.
// Source: Megatron-Core 0.16.1, core/transformer/moe/experts.py (SequentialMLP, TEGroupedMLP).
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "workloads/megatron/layers/layer_context.hpp"
#include "workloads/megatron/layers/layers.hpp"
#include "workloads/megatron/moe/token_dispatcher.hpp"

namespace highwater::megatron {

class Experts : public nn::Module {
 public:
  using Module::Module;

  /// Of rows in the order of the experts, of which each has as many as `rows_of_experts` says.
  virtual Tensor operator()(const TokenDispatcher::Dispatched& rows,
                            const std::vector<std::int64_t>& rows_of_experts) const = 0;
};

/// One after the other.
std::unique_ptr<Experts> make_sequential_experts(nn::Module* parent, const LayerContext& shared);

/// All at once (--moe-grouped-gemm), by Transformer Engine.
std::unique_ptr<Experts> make_grouped_experts(nn::Module* parent, const LayerContext& shared);

/// How many experts a rank has.
std::int64_t experts_of_rank(const LayerContext& shared);

}  // namespace highwater::megatron
