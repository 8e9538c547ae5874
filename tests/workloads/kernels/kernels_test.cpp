// Workspaces of matrix products, and scratch of multi-tensor operators and norms, as recorded
// (recorded_gpus.hpp).
#include <vector>

#include <catch2/catch.hpp>

#include "tests/workloads/kernels/recorded_gpus.hpp"
#include "workloads/kernels/cublas.hpp"
#include "workloads/kernels/foreach.hpp"
#include "workloads/kernels/grouped_gemm.hpp"

using namespace highwater;
using namespace highwater::test;

TEST_CASE("grouped products: one kernel on Hopper, for bf16", "[workloads][kernels][golden]") {
  CHECK(runs_grouped_kernel(kH100, DType::bf16));
  CHECK_FALSE(runs_grouped_kernel(kH100, DType::fp32));
  CHECK_FALSE(runs_grouped_kernel(kA100, DType::bf16));
  CHECK(grouped_gemm_scratch(kH100, 8, {2, 15}).arguments == 480);
  CHECK(grouped_gemm_scratch(kH100, 8, {2, 15}).workspace == 67584);
  CHECK(grouped_gemm_scratch(kH100, 8, {2, 10}).workspace == 84480);
}

TEST_CASE("cublas: workspaces by architecture and version", "[workloads][kernels][golden]") {
  CHECK(cublas_workspace(kA100, {2, 6}).bytes == 8519680);
  CHECK(cublas_workspace(kV100, {2, 6}).bytes == 8519680);
  CHECK(cublas_workspace(kH100, {2, 6}).bytes == 33554432);
  CHECK(cublas_workspace(kH100, {2, 15}).bytes == 33554432);
  CHECK(cublas_workspace(*find_gpu("b200"), {2, 11}).bytes == 8519680);
  CHECK(cublas_workspace(*find_gpu("b200"), {2, 15}).bytes == 33554432);
  CHECK(cublas_workspace(kA100, {2, 6}).life == WorkspaceLife::persistent);
  CHECK(cublas_workspace(kA100, {2, 14}).life == WorkspaceLife::persistent);
  CHECK(cublas_workspace(kA100, {2, 15}).life == WorkspaceLife::per_call);
  CHECK(cublaslt_workspace({2, 6}).life == WorkspaceLife::per_call);
  CHECK(cublaslt_workspace({2, 6}).bytes == 1048576);
  CHECK(cublaslt_workspace({2, 10}).life == WorkspaceLife::persistent);
  CHECK(cublaslt_workspace({2, 11}).life == WorkspaceLife::persistent);
  CHECK(cublaslt_workspace({2, 14}).life == WorkspaceLife::shared);
  CHECK(cublaslt_workspace({2, 15}).life == WorkspaceLife::per_call);
  CHECK(cublaslt_workspace({2, 15}).bytes == 1048576);
}

TEST_CASE("cublas: which addmm runs in cuBLASLt", "[workloads][kernels][golden]") {
  CHECK(addmm_uses_cublaslt({.k = 64, .n = 64, .bias_size = 64}));
  CHECK(addmm_uses_cublaslt({.k = 8, .n = 3000000, .dtype = DType::bf16, .bias_size = 3000000}));
  CHECK_FALSE(addmm_uses_cublaslt({.k = 1, .n = 64, .bias_size = 64}));
  CHECK_FALSE(addmm_uses_cublaslt({.k = 64, .n = 1, .bias_size = 1}));
  CHECK_FALSE(addmm_uses_cublaslt({.k = 64, .n = 64, .bias_size = 1}));
  CHECK_FALSE(addmm_uses_cublaslt({.k = 64, .n = 64, .bias_dims = 2, .bias_size = 64}));
  CHECK_FALSE(addmm_uses_cublaslt({.k = 64, .n = 64, .bias_size = 64, .bias_contiguous = false}));
  CHECK_FALSE(addmm_uses_cublaslt({.k = 64, .n = 64, .bias_size = 64, .beta_is_one = false}));
}

TEST_CASE("foreach: norms of a list share one block of partial sums",
          "[workloads][kernels][golden]") {
  const Sizes numels{10, 70000, 1000000, 65536, 65537};
  CHECK(foreach_norm(numels, DType::fp32, {2, 6}).partial == 320);
  CHECK(foreach_norm(numels, DType::bf16, {2, 6}).partial == 320);
  CHECK(foreach_norm(numels, DType::bf16, {2, 6}).scalar == 2);
  CHECK(foreach_norm(Sizes(300, 1000), DType::fp32, {2, 6}).partial == 1200);
}

TEST_CASE("foreach: since 2.15 partial sums have no gaps, and offsets before them",
          "[workloads][kernels][golden]") {
  const ForeachNorm norm = foreach_norm(Sizes{10, 70000, 200000}, DType::bf16, {2, 15});
  CHECK(norm.offsets == 32);
  CHECK(norm.partial == 28);
  CHECK(norm.scalar == 2);
  CHECK(foreach_norm(Sizes{10, 70000, 200000}, DType::fp32, {2, 6}).offsets == 0);
}
