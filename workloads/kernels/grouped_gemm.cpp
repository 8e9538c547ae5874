#include "workloads/kernels/grouped_gemm.hpp"

#include "workloads/kernels/division.hpp"

namespace highwater {

bool runs_grouped_kernel(const Gpu& gpu, DType dtype) {
  return dtype == DType::bf16 && (gpu.major == 9 || gpu.major == 10);
}

GroupedGemmScratch grouped_gemm_scratch(const Gpu& gpu, std::int64_t groups, Release torch) {
  constexpr std::int64_t kOperands = 3;
  constexpr std::int64_t kPointer = 8;
  constexpr std::int64_t kStride = 8;
  constexpr std::int64_t kProblem = 12;  // M, N and K as int32
  constexpr std::int64_t kTensorMap = 128;
  const std::int64_t maps = torch >= Release{2, 11} ? 4 : 5;
  const std::int64_t aligned = divide_up(groups, 2) * 2;
  return {aligned * kOperands * kPointer + groups * (kProblem + kOperands * kStride),
          maps * kTensorMap * gpu.multiprocessors};
}

}  // namespace highwater
