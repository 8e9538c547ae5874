// Temporaries of the multi-tensor operators behind clipping and the optimizers.
//
// _foreach_norm needs partial sums. No other operator needs scratch: _foreach_mul_,
// addcdiv_, sqrt, ... allocate only their results; _fused_adamw_ and
// _amp_foreach_non_finite_check_and_unscale_ allocate nothing. Facts:
// ATen/native/cuda/ForeachReduceOp.cu, PyTorch 2.6; newer ones by recordings
// (tools/python/measure).
#pragma once

#include <cstdint>
#include <span>

#include "traces/release.hpp"
#include "workloads/plan/dtype.hpp"

namespace highwater {

/// _foreach_norm over tensors of one device and dtype: the partial sums are allocated first, behind
/// the offsets, then one scalar per tensor in order; both are freed at the end, the last one first.
/// (With an operand that the fast path refuses, it is one vector norm per tensor instead.)
struct ForeachNorm {
  std::int64_t offsets = 0;  ///< of each tensor's partial sums and their end, int64; 0: none
  std::int64_t partial = 0;  ///< float: [tensors, chunks of the longest]; with offsets, all chunks
  std::int64_t scalar = 0;   ///< of each result: one element of the tensors' dtype
};

/// Kernels of a multi-tensor operator over tensors of these sizes: chunks of 65,536 elements, at
/// most 320 chunks and `most_tensors` tensors each (ATen/native/cuda/MultiTensorApply.cuh:
/// depth_to_max_tensors, by the number of lists that take part).
int foreach_kernels(std::span<const std::int64_t> numels, int most_tensors);

ForeachNorm foreach_norm(std::span<const std::int64_t> numels, DType type, Release torch);

}  // namespace highwater
