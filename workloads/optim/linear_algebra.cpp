#include "workloads/optim/linear_algebra.hpp"

#include <algorithm>

#include "workloads/eager/ops.hpp"
#include "workloads/eager/runtime.hpp"

namespace highwater::optim {

namespace {

using eager::Tensor;

// The code that cuSOLVER returns is compared twice on the device (_linalg_check_errors).
void check_errors(Tensor info) {
  eager::Runtime& runtime = info.runtime();
  Tensor differs = eager::empty(runtime, {}, DType::boolean);
  Tensor any = eager::empty(runtime, {}, DType::boolean);
  eager::end_of_frame(any, differs, info);
  runtime.synchronize();
}

}  // namespace

Svd thin_svd(const Tensor& matrix) {
  eager::Runtime& runtime = matrix.runtime();
  const eager::OpScope scope(runtime, "linalg_svd");
  const std::int64_t rows = matrix.size(0);
  const std::int64_t columns = matrix.size(1);
  const std::int64_t rank = std::min(rows, columns);
  Svd svd{.u = eager::empty_strided(runtime, {rows, rank}, {1, rows}, DType::fp32),
          .s = {},
          .vh = eager::empty(runtime, {rank, columns}, DType::fp32)};
  svd.s = eager::empty(runtime, {rank}, DType::fp32);
  Tensor info = eager::empty(runtime, {1}, DType::int32);
  eager::empty(runtime, {rows, columns}, DType::fp32);  // overwritten by cuSOLVER
  check_errors(std::move(info));
  return svd;
}

}  // namespace highwater::optim
