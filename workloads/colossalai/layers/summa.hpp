// Matrix products over a square grid of ranks: SUMMA, in as many steps as the grid has columns.
//
// In every step one rank of each row sends its block of the left operand along the row, or one of
// each column its block of the right one along the column; blocks of the result are added up where
// both operands travel, and reduced to their owner otherwise. Two buffers take turns for each block
// that travels. Source: Colossal-AI 0.5, legacy/nn/layer/parallel_2d/_operation.py (Matmul_AB_2D,
// Matmul_ABT_2D, Matmul_ATB_2D); parallel_2p5d/_operation.py does the same in each layer of the
// grid.
#pragma once

#include "workloads/colossalai/layers/collectives.hpp"

namespace highwater::colossalai {

/// A row and a column of the grid, in which this rank is.
struct SummaGroups {
  ProcessGroup& row;
  ProcessGroup& column;

  [[nodiscard]] int steps() const { return row.size(); }
};

/// a [..., k / q] times b [k / q, n / q].
Tensor matmul_ab(const SummaGroups& groups, const Tensor& a, const Tensor& b);

/// a [..., k / q] times the transpose of b [n / q, k / q].
Tensor matmul_abt(const SummaGroups& groups, const Tensor& a, const Tensor& b);

}  // namespace highwater::colossalai
