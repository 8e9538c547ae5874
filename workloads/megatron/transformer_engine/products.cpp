#include "workloads/megatron/transformer_engine/products.hpp"

#include <string>

#include "workloads/eager/runtime.hpp"

namespace highwater::megatron {

namespace {

// get_cublas_workspace_size_bytes.
void keep_workspace(eager::Runtime& runtime, const std::string& name) {
  constexpr std::int64_t kSince9 = std::int64_t{32} * 1024 * 1024 + 1024;
  constexpr std::int64_t kBefore9 = 4'194'304;
  eager::Tensor& kept = runtime.kept(name);
  if (kept.defined()) {
    return;
  }
  const eager::OpScope op(runtime, "get_cublas_workspace");
  kept = eager::empty(runtime, {runtime.gpu.major >= 9 ? kSince9 : kBefore9}, DType::uint8);
  runtime.categorize(kept, Category::workspace);
}

}  // namespace

void keep_product_workspace(eager::Runtime& runtime) {
  keep_workspace(runtime, "get_cublas_workspace");
}

void keep_stream_workspaces(eager::Runtime& runtime) {
  constexpr int kStreams = 4;  // get_num_cublas_streams
  for (int i = 0; i < kStreams; ++i) {
    keep_workspace(runtime, "get_cublas_workspace " + std::to_string(i));
  }
}

eager::Tensor product_block(eager::Runtime& runtime, const eager::Dims& sizes, DType dtype) {
  const eager::OpScope op(runtime, "general_gemm");
  return eager::empty(runtime, sizes, dtype);
}

}  // namespace highwater::megatron
