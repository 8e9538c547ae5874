// Muon as Megatron-Core has it: the momentum of a matrix is made orthogonal by five Newton-Schulz
// iterations in bf16, queries, keys and values each by themselves.
//
// Source: Megatron-Core 0.19.2, core/optimizer/emerging_optimizers.py (TensorParallelMuon), with
// emerging_optimizers 0.3.0, orthogonalized_optimizers/muon_utils.py. On one rank of a tensor-
// parallel group, and with Megatron-LM's defaults (--muon-split-qkv, no Nesterov momentum).
#pragma once

#include <array>
#include <cstdint>

#include "workloads/eager/tensor.hpp"

namespace highwater::megatron {

/// How the rows of linear_qkv.weight are divided: query groups, and the rows of each one's queries,
/// keys and values.
struct QkvSplit {
  std::int64_t groups = 0;
  std::array<std::int64_t, 3> rows{};
};

/// TensorParallelMuon.orthogonalize(momentum); `split` of a weight that is split.
eager::Tensor orthogonalized(const eager::Tensor& momentum, const QkvSplit* split);

}  // namespace highwater::megatron
