// Scratch of grouped matrix products: one product for each expert of a mixture in one call.
//
// bf16 on Hopper and Blackwell runs in one CUTLASS kernel; all else is a loop of products in
// cuBLAS. Facts: ATen/native/cuda/GroupMM.cu, GroupedBlas.cpp and GroupedMMUtils.h; sizes seen
// in 2.10 to 2.15 on a simulated H100.
#pragma once

#include <cstdint>

#include "traces/release.hpp"
#include "workloads/plan/dtype.hpp"
#include "workloads/plan/gpu.hpp"

namespace highwater {

/// True if the groups run in one kernel.
bool runs_grouped_kernel(const Gpu& gpu, DType dtype);

/// Two blocks, requested in this order and freed in the reverse one.
struct GroupedGemmScratch {
  std::int64_t arguments = 0;  ///< pointers, strides and sizes of every group's operands
  std::int64_t workspace = 0;  ///< tensor maps for each multiprocessor: four, five in 2.10
};

GroupedGemmScratch grouped_gemm_scratch(const Gpu& gpu, std::int64_t groups, Release torch);

}  // namespace highwater
