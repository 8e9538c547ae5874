// What cuDNN's attention allocates besides its results (ATen/native/cudnn/MHA.cpp).
#pragma once

#include <cstdint>

#include "workloads/kernels/attention.hpp"
#include "workloads/plan/attention.hpp"
#include "workloads/plan/gpu.hpp"

namespace highwater {

struct CudnnCall {
  AttentionShape shape;
  double dropout = 0.0;
  Logsumexp logsumexp = Logsumexp::computed;
  CudnnWorkspaces workspaces = CudnnWorkspaces::counted;
};

/// Forward: seed and offset (8 bytes each), output, logsumexp, workspace. Backward: dq, dk, dv
/// (like q, k, v), workspace. Workspaces are freed at the end.
struct CudnnAttention {
  std::int64_t seed = 8;
  std::int64_t offset = 8;
  std::int64_t logsumexp = 0;  ///< [b, h, s, 1] float; 0 without gradients
  std::int64_t forward_workspace = 0;
  std::int64_t backward_workspace = 0;
};

CudnnAttention cudnn_attention(const Gpu& gpu, const CudnnCall& call);

}  // namespace highwater
