// Workspaces of matrix products.
//
// cuBLAS, up to 2.14: one block per (handle, stream), requested at the handle's first product on
// that stream, after the product's output (and copies of operands), and kept. The autograd thread
// has a handle of its own. cuBLASLt runs addmm with a bias vector and has a workspace of its own;
// its handle is the cuBLAS one, so a thread's first addmm requests both: output, Lt workspace,
// cuBLAS workspace, and frees the Lt workspace.
// From 2.15 on each product requests the workspace of the library that runs it, after its output,
// and frees it when it returns (getCurrentCUDABlasHandleWithWorkspace), unless the environment has
// TORCH_CUBLAS_WORKSPACE_CACHE=1.
// Facts: ATen/cuda/CublasHandlePool.cpp, CUDABlas.cpp, native/cuda/Blas.cpp; by version: PyTorch
// pull requests 91564 (2.0), 156495 (2.9), 168175 (2.12), 194311 (2.15: in its wheel, not in that
// of 2.14). 2.6, 2.8 and 2.10 to 2.15 were seen in recordings.
#pragma once

#include <cstdint>

#include "traces/release.hpp"
#include "workloads/plan/dtype.hpp"
#include "workloads/plan/gpu.hpp"

namespace highwater {

/// How long a workspace lives.
enum class WorkspaceLife : std::uint8_t {
  per_call,    ///< around each product: freed when it returns
  persistent,  ///< one per (handle, stream), requested at its first product and kept
  shared       ///< cuBLASLt's only: the cuBLAS workspace itself, no block
};

struct CublasWorkspace {
  WorkspaceLife life = WorkspaceLife::per_call;
  std::int64_t bytes = 0;  ///< 0 if shared
};

/// cuBLAS's workspace in PyTorch's release `torch`.
CublasWorkspace cublas_workspace(const Gpu& gpu, Release torch);

/// cuBLASLt's workspace.
CublasWorkspace cublaslt_workspace(Release torch);

/// addmm(bias, a [m,k], b [k,n]) as PyTorch sees it; linear with a bias becomes one if its input
/// has two dimensions, or is contiguous with three.
struct AddmmCall {
  std::int64_t k = 1;
  std::int64_t n = 1;
  DType dtype = DType::fp32;
  int bias_dims = 1;
  std::int64_t bias_size = 1;  ///< number of elements of the bias
  bool bias_contiguous = true;
  bool beta_is_one = true;
  Release torch{2, 6};
};

/// True if the product runs in cuBLASLt with the bias in its epilogue (2.6). Otherwise the bias is
/// first copied into the output, which takes no block. In 2.15 (recorded) cuBLASLt takes a
/// contiguous matrix to be added as well, whatever beta.
bool addmm_uses_cublaslt(const AddmmCall& call);

}  // namespace highwater
