#include "workloads/kernels/cublas.hpp"

namespace highwater {
namespace {

constexpr std::int64_t kKib = 1024;
constexpr Release kPerCallRelease{2, 15};  ///< no workspace is kept from here on
constexpr Release kBlackwellRelease{2, 12};
constexpr Release kMatrixBiasRelease{2, 15};

/// use32mb of CublasHandlePool.cpp: Hopper, and Blackwell since pull request 175344.
bool has_large_workspace(const Gpu& gpu, Release torch) {
  const bool is_blackwell = gpu.major == 10 || gpu.major == 12;
  return gpu.major == 9 || (is_blackwell && torch >= kBlackwellRelease);
}

}  // namespace

CublasWorkspace cublas_workspace(const Gpu& gpu, Release torch) {
  if (torch < Release{2, 0}) {
    return {WorkspaceLife::persistent, 4096 * kKib};
  }
  return {torch >= kPerCallRelease ? WorkspaceLife::per_call : WorkspaceLife::persistent,
          (has_large_workspace(gpu, torch) ? 32768 : 8320) * kKib};  // :4096:8, or :4096:2:16:8
}

CublasWorkspace cublaslt_workspace(Release torch) {
  constexpr std::int64_t kBytes = 1024 * kKib;
  if (torch < Release{2, 9} || torch >= kPerCallRelease) {
    return {WorkspaceLife::per_call, kBytes};
  }
  return torch >= Release{2, 12} ? CublasWorkspace{WorkspaceLife::shared, 0}
                                 : CublasWorkspace{WorkspaceLife::persistent, kBytes};
}

bool addmm_uses_cublaslt(const AddmmCall& call) {
  if (call.bias_dims == 2 && call.torch >= kMatrixBiasRelease) {
    return call.bias_contiguous && is_floating_point(call.dtype) && call.k > 1 && call.n > 1;
  }
  return call.beta_is_one && call.bias_dims == 1 && call.bias_contiguous &&
         call.bias_size == call.n && is_floating_point(call.dtype) && call.k > 1 && call.n > 1;
}

}  // namespace highwater
