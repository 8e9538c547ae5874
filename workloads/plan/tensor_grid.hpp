// The ranks of Colossal-AI's 2D, 2.5D and 3D tensor parallelism as a grid.
//
// Sources: Colossal-AI 0.5, legacy/context/process_group_initializer/initializer_{2d,2p5d,3d}.py;
// Xu et al. 2021 (2D), Wang et al. 2021 (2.5D), Bian et al. 2021 (3D).
#pragma once

#include "workloads/plan/parallelism.hpp"

namespace highwater {

/// Whether layers are split over a grid of ranks.
constexpr bool splits_over_grid(const Parallelism& p) {
  const TensorParallel kind = p.tp_kind;
  return p.tp > 1 &&
         (kind == TensorParallel::colossalai_2d || kind == TensorParallel::colossalai_2p5d ||
          kind == TensorParallel::colossalai_3d);
}

/// Layers of the grid: one in 2D, those asked for in 2.5D, as many as its side has ranks in 3D.
constexpr int grid_depth(const Parallelism& p) {
  return p.tp_kind == TensorParallel::colossalai_2p5d ? p.tp_depth : 1;
}

/// The largest side of a grid with at most `p.tp` ranks.
constexpr int grid_side(const Parallelism& p) {
  const bool is_cube = p.tp_kind == TensorParallel::colossalai_3d;
  const auto ranks = [&](std::int64_t side) {
    return is_cube ? side * side * side : side * side * grid_depth(p);
  };
  std::int64_t side = 1;
  while (ranks(side + 1) <= p.tp) {
    ++side;
  }
  return static_cast<int>(side);
}

/// Parts of each batch: the rows of a grid, in 3D those of its layers as well. Batches are
/// multiples of it.
constexpr std::int64_t grid_batch_parts(const Parallelism& p) {
  const std::int64_t side = splits_over_grid(p) ? grid_side(p) : 1;
  return p.tp_kind == TensorParallel::colossalai_3d ? side * side : side;
}

/// Whether the ranks fill their grid.
constexpr bool fills_grid(const Parallelism& p) {
  const std::int64_t side = grid_side(p);
  const std::int64_t layers = p.tp_kind == TensorParallel::colossalai_3d ? side : grid_depth(p);
  return side * side * layers == p.tp;
}

/// A rank's coordinates: those of 3D along the groups that share inputs, weights and outputs are
/// row, column and layer.
struct GridPlace {
  int row = 0;
  int column = 0;
  int layer = 0;
};

constexpr GridPlace grid_place(const Parallelism& p) {
  const int side = grid_side(p);
  const int rank = rank_place(p).tp;
  return {.row = rank / side % side, .column = rank % side, .layer = rank / (side * side)};
}

}  // namespace highwater
