// MoEAlltoAllTokenDispatcher: brings tokens to the ranks of their experts and back.
//
// Source: Megatron-Core 0.16.1, core/transformer/moe/{token_dispatcher,moe_utils}.py. As an object
// it keeps the routing of its last forward (probabilities, map and order) until the next one.
#pragma once

#include <cstdint>

#include "workloads/megatron/layers/layer_context.hpp"
#include "workloads/megatron/moe/moe_router.hpp"

namespace highwater::megatron {

class TokenDispatcher {
 public:
  TokenDispatcher(const nn::ModelContext& context, const LayerContext& shared);

  /// Rows for experts, and the weight of each.
  struct Dispatched {
    Tensor tokens;  ///< [rows, h]
    Tensor probs;   ///< [rows] fp32
  };

  /// The copies of this rank's tokens in the order of their experts.
  Dispatched preprocess(const Tensor& hidden_states, const RoutingResult& routed);

  /// Rows of all ranks for this rank's experts.
  Dispatched dispatch(const Dispatched& rows);

  /// The same in the order of the experts; with tensor parallelism, those of all its ranks.
  Dispatched postprocess(Dispatched rows);

  /// Back to the order in which the rows arrived.
  Tensor combine_preprocess(Tensor rows);

  Tensor combine(const Tensor& rows);

  /// The sum of each token's rows, in the shape of the states.
  Tensor combine_postprocess(const Tensor& rows);

  /// Rows of each of this rank's experts after postprocess().
  [[nodiscard]] std::vector<std::int64_t> rows_of_experts() const;

 private:
  Dispatched permute(const Tensor& tokens);
  Dispatched permute_padded(const Tensor& tokens);
  Dispatched permute_fused(const Tensor& tokens);
  enum class RowOrder : std::uint8_t { by_expert, as_received };
  [[nodiscard]] Tensor sorted(const Tensor& rows, RowOrder order) const;
  [[nodiscard]] Tensor sorted_chunks(const Tensor& rows) const;

  [[nodiscard]] bool is_padded() const { return experts_.capacity_factor().has_value(); }

  const Config& config_;
  TensorParallel& tp_;
  ExpertParallel& experts_;
  int expert_tp_;  ///< 1 or tp_'s size
  bool is_fused_;  ///< moe_permute_fusion
  TokenCounts counts_;
  Dims hidden_shape_;
  RoutingResult routed_;
  Tensor order_;  ///< reversed_local_input_permutation_mapping; fused: the kernels' map
};

}  // namespace highwater::megatron
