// Matrices that are DTensors over one dimension of a mesh, and products of them.
//
// An operator may find its operands in a layout that it cannot compute with. DTensor then lists the
// layouts with which it can, estimates what it takes to bring the operands there, and takes the
// cheapest: torch/distributed/tensor of PyTorch 2.15, _ops/_matrix_ops.py
// (gen_single_dim_einsum_strategies), _sharding_prop.py (_select_min_cost_strategy) and
// _collective_utils.py (redistribute_cost). The estimate knows sizes and ranks alone, so that what
// is chosen follows from the plan.
#pragma once

#include "workloads/optim/resharding.hpp"

namespace highwater::optim {

struct DTensorMatrix {
  eager::Tensor local;
  MatrixSize whole;
  Layout layout = Layout::rows;
  const Resharding* resharding = nullptr;

  [[nodiscard]] std::int64_t size(std::int64_t dim) const {
    return dim == 0 ? whole.rows : whole.columns;
  }
};

/// The matrix in another layout; itself if it has it.
DTensorMatrix redistributed(const DTensorMatrix& matrix, Layout layout);

DTensorMatrix t(const DTensorMatrix& matrix);
DTensorMatrix mm(const DTensorMatrix& left, const DTensorMatrix& right);
/// addmm with beta and alpha, of a bias that is a matrix of the result's size.
DTensorMatrix addmm(const DTensorMatrix& bias, const DTensorMatrix& left,
                    const DTensorMatrix& right);

}  // namespace highwater::optim
