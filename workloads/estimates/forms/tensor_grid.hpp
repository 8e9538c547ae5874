// What one device holds under tensor parallelism over a grid of ranks.
//
// Sources: Xu et al. 2021 (arXiv 2104.05343, 2D), Wang et al. 2021 (arXiv 2105.14500, 2.5D), Bian
// et al. 2021 (arXiv 2105.14450, 3D).
#pragma once

#include "workloads/estimates/terms/formula.hpp"

namespace highwater {

/// q ranks on a side, d of the grids one behind the other.
struct GridSize {
  double side = 1;
  double depth = 1;
};

struct MatrixSize {
  double rows = 0;
  double columns = 0;

  bool operator==(const MatrixSize&) const = default;
};

/// What a device holds of a linear layer [k, n] of r rows of input, between its products.
struct GridBlocks {
  MatrixSize weight;
  MatrixSize input;
  MatrixSize output;
};

GridBlocks grid_blocks_2d(const GridSize& grid, double r, double k, double n);
GridBlocks grid_blocks_3d(double side, double r, double k, double n);

/// Weights, gradients and Adam's two moments of P parameters of `bytes` each, shared by `devices`.
Estimate grid_states(double parameters, double bytes, double devices);

extern const Formula kTensorGrid;

}  // namespace highwater
