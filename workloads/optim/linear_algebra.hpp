// Decompositions of matrices, as torch.linalg makes them with cuSOLVER.
#pragma once

#include "workloads/eager/tensor.hpp"

namespace highwater::optim {

struct Svd {
  eager::Tensor u;
  eager::Tensor s;
  eager::Tensor vh;
};

/// torch.linalg.svd(matrix, full_matrices=False) of an fp32 matrix
/// (ATen/native/cuda/linalg/BatchLinearAlgebraLib.cpp: svd_cusolver_gesvdj, PyTorch 2.15). What
/// cuSOLVER asks for as its workspace is not known and left out.
Svd thin_svd(const eager::Tensor& matrix);

}  // namespace highwater::optim
