#include "workloads/megatron/transformer_engine/products.hpp"

#include "workloads/eager/runtime.hpp"

namespace highwater::megatron {

// get_cublas_workspace_size_bytes.
void keep_product_workspace(eager::Runtime& runtime) {
  constexpr std::int64_t kSince9 = std::int64_t{32} * 1024 * 1024 + 1024;
  constexpr std::int64_t kBefore9 = 4'194'304;
  eager::Tensor& kept = runtime.kept("get_cublas_workspace");
  if (kept.defined()) {
    return;
  }
  const eager::OpScope op(runtime, "get_cublas_workspace");
  kept = eager::empty(runtime, {runtime.gpu.major >= 9 ? kSince9 : kBefore9}, DType::uint8);
  runtime.categorize(kept, Category::workspace);
}

eager::Tensor product_block(eager::Runtime& runtime, const eager::Dims& sizes, DType dtype) {
  const eager::OpScope op(runtime, "general_gemm");
  return eager::empty(runtime, sizes, dtype);
}

}  // namespace highwater::megatron
