// Transformer Engine's kernels that bring tokens into the order of their experts and back.
//
// Source: Transformer Engine 2.20, pytorch/{permutation,triton/permutation}.py.
#pragma once

#include <cstdint>

#include "workloads/eager/ops.hpp"

namespace highwater::megatron {

/// Rows of tokens in the order of their experts.
struct PermutedRows {
  eager::Tensor rows;   ///< [rows, h]
  eager::Tensor probs;  ///< [rows]; undefined where there are no probabilities
  eager::Tensor map;    ///< where each token's rows are
};

/// moe_permute_with_probs of [tokens, h] and [tokens, experts].
PermutedRows permute_by_map(const eager::Tensor& tokens, const eager::Tensor& probs,
                            std::int64_t rows);

/// moe_unpermute without probabilities: the sum of each token's rows, [tokens, h].
eager::Tensor unpermute_by_map(const eager::Tensor& rows, const eager::Tensor& map);

/// moe_sort_chunks_by_index(_with_probs): chunks of rows in another order. `probs` may be
/// undefined.
PermutedRows sort_chunks(const eager::Tensor& rows, const eager::Tensor& probs);

}  // namespace highwater::megatron
