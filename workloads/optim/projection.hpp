// Projections of the gradients of matrices to a low rank, with proj_type std: GaLore's
// (galore_torch 1.0, galore_projector.py) and APOLLO's (apollo_torch 1.0.3, random_projector.py).
#pragma once

#include "workloads/optim/algorithms.hpp"

namespace highwater::optim {

/// get_orthogonal_matrix: a projection of `grad` to `rank`.
using MakeProjection = Tensor (*)(const Tensor& grad, std::int64_t rank);

Tensor singular_vectors(const Tensor& grad, std::int64_t rank);
Tensor random_projection(const Tensor& grad, std::int64_t rank);

/// project: `grad` in the low rank; `projection` is made at the first step and every 200 steps
/// after.
Tensor project(const Update& update, Tensor& projection, const Tensor& grad, MakeProjection make);

/// project_back
Tensor projected_back(const Tensor& low_rank, const Tensor& projection);

}  // namespace highwater::optim
