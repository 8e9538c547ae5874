// Muon as Megatron-Core has it: the momentum of a matrix is made orthogonal by five Newton-Schulz
// iterations in bf16, queries, keys and values each by themselves.
//
// Source: Megatron-Core 0.19.2, core/optimizer/emerging_optimizers.py (TensorParallelMuon), with
// emerging_optimizers 0.3.0, orthogonalized_optimizers/muon_utils.py (newton_schulz_tp).
#pragma once

#include <array>
#include <cstdint>
#include <optional>

#include "workloads/distributed/process_group.hpp"
#include "workloads/nn/module.hpp"
#include "workloads/plan/megatron_options.hpp"

namespace highwater::megatron {

/// How the rows of linear_qkv.weight are divided: query groups, and the rows of each one's queries,
/// keys and values.
struct QkvSplit {
  std::int64_t groups = 0;
  std::array<std::int64_t, 3> rows{};
};

/// The dimension that tensor-parallel ranks share of a layer's weight (partition_dim): rows of a
/// ColumnParallelLinear, columns of a RowParallelLinear; none of any other. They have it on one
/// rank as well.
std::optional<std::int64_t> partition_dim(const nn::NamedTensor& weight);

/// What makes a matrix orthogonal.
struct Orthogonalizer {
  dist::ProcessGroup& ranks;  ///< the tensor-parallel group
  MuonTp mode;

  /// TensorParallelMuon.orthogonalize(momentum); `split` of a weight that is split, `dim` of one
  /// that the ranks share.
  [[nodiscard]] eager::Tensor operator()(const eager::Tensor& momentum, const QkvSplit* split,
                                         std::optional<std::int64_t> dim) const;

 private:
  [[nodiscard]] eager::Tensor scaled(const eager::Tensor& matrix,
                                     std::optional<std::int64_t> dim) const;
  [[nodiscard]] eager::Tensor newton_schulz_tp(const eager::Tensor& matrix,
                                               std::optional<std::int64_t> dim) const;
};

}  // namespace highwater::megatron
