// Rules: scratch of kernels. Every expected number was recorded from PyTorch 2.6.0 (CUDA 12.4) on
// the fake devices a100-80, h100-80 and v100-16: the operator was called alone with memory history
// on, and the sizes are those of the history. None was computed by the code under test.
#include <cstdint>
#include <string>
#include <vector>

#include <catch2/catch.hpp>

#include "workloads/kernels/attention.hpp"
#include "workloads/kernels/cublas.hpp"
#include "workloads/kernels/embedding.hpp"
#include "workloads/kernels/foreach.hpp"
#include "workloads/kernels/grouped_gemm.hpp"
#include "workloads/kernels/layer_norm.hpp"
#include "workloads/kernels/reduce.hpp"

using namespace highwater;

namespace {

using Sizes = std::vector<std::int64_t>;

Gpu gpu(int major, int multiprocessors) {
  Gpu made{};
  made.major = major;
  made.multiprocessors = multiprocessors;
  made.max_threads_per_multiprocessor = 2048;
  return made;
}

const Gpu kA100 = gpu(8, 108);
const Gpu kH100 = gpu(9, 132);
const Gpu kV100 = gpu(7, 80);

struct ReduceRow {
  const Gpu* gpu;
  Reduction kind;
  DType input;
  DType output;
  Sizes sizes;
  Sizes strides;
  std::uint64_t reduced;
  std::int64_t offset;
  Sizes recorded;  ///< accumulators, then buffer and semaphores of each launch
};

Sizes scratch_of(const ReduceRow& row) {
  const ReduceInput in{row.sizes, row.strides, row.reduced, row.offset, row.input, row.output};
  Sizes found;
  if (const std::int64_t bytes = reduce_accumulators(row.kind, in); bytes > 0) {
    found.push_back(bytes);
  }
  for (const ReduceScratch& scratch : reduce_scratch(*row.gpu, row.kind, in)) {
    found.push_back(scratch.buffer);
    found.push_back(scratch.semaphores);
  }
  return found;
}

void check_rows(const std::vector<ReduceRow>& rows) {
  for (const ReduceRow& row : rows) {
    CAPTURE(row.sizes, row.strides, row.reduced, row.input, static_cast<int>(row.kind));
    CHECK(scratch_of(row) == row.recorded);
  }
}

/// "+24#0 -#0": the notation of the recordings.
std::string text(const ScratchScript& script) {
  std::string line;
  for (const ScratchStep& step : script) {
    const std::string block = "#" + std::to_string(step.block);
    line += (line.empty() ? "" : " ");
    line += step.bytes > 0 ? "+" + std::to_string(step.bytes) + block : "-" + block;
  }
  return line;
}

Sizes nonzero_sizes(const Sizes& sizes) {
  Sizes found;
  for (const std::int64_t size : sizes) {
    if (size > 0) {
      found.push_back(size);
    }
  }
  return found;
}

struct AttentionRow {
  const Gpu* gpu;
  DType dtype;
  AttentionShape shape;
  double dropout;
  Sizes forward;   ///< after the output
  Sizes backward;  ///< after dq, dk, dv
};

AttentionShape shape_of(std::int64_t batch, std::int64_t heads, std::int64_t kv_heads,
                        std::int64_t q_len, std::int64_t kv_len, std::int64_t head_dim) {
  return {batch, heads, kv_heads, q_len, kv_len, head_dim, head_dim};
}

}  // namespace

TEST_CASE("reduce: bias gradients, norm weights and means of a training step",
          "[workloads][kernels][golden]") {
  using enum Reduction;
  constexpr DType kFloat = DType::fp32;
  constexpr DType kHalf = DType::bf16;
  check_rows({
      {&kA100, sum, kFloat, kFloat, {128, 768}, {768, 1}, 1, 0, {}},
      {&kA100, sum, kFloat, kFloat, {1024, 768}, {768, 1}, 1, 0, {6291456, 24}},
      {&kA100, sum, kFloat, kFloat, {4096, 768}, {768, 1}, 1, 0, {25165824, 24}},
      {&kA100, sum, kHalf, kHalf, {4096, 768}, {768, 1}, 1, 0, {25165824, 24}},
      {&kA100, sum, kFloat, kFloat, {8192, 2304}, {2304, 1}, 1, 0, {113246208, 72}},
      {&kA100, sum, kFloat, kFloat, {4096, 50257}, {50257, 1}, 1, 0, {}},
      {&kA100, sum, kFloat, kFloat, {128, 768}, {768, 1}, 0, 0, {}},
      {&kA100, sum, kFloat, kFloat, {1024, 768}, {768, 1}, 0, 0, {384, 4}},
      {&kA100, sum, kFloat, kFloat, {8192, 2304}, {2304, 1}, 0, 0, {1728, 4}},
      {&kA100, sum, kHalf, kHalf, {4096, 768}, {768, 1}, 0, 0, {1536, 4}},
      {&kA100, mean, kFloat, kFloat, {4096, 50257}, {50257, 1}, 2, 0, {}},
  });
}

TEST_CASE("reduce: strided, broadcast and shifted inputs as recorded",
          "[workloads][kernels][golden]") {
  using enum Reduction;
  using enum DType;
  check_rows({
      {&kA100, amax, fp16, fp16, {16, 50, 8192}, {409600, 8192, 1}, 7, 0, {864, 4}},
      {&kA100, amax, fp32, fp32, {300, 8192}, {1, 0}, 3, 0, {1200, 4}},
      {&kA100, amax, fp32, fp32, {300, 50, 2, 64}, {6400, 128, 64, 1}, 8, 0, {}},
      {&kA100, argmax, fp32, int64, {50, 2304, 256}, {2304, 1, 115200}, 4, 0, {}},
      {&kA100, logical, int64, boolean, {2304, 129, 3}, {387, 3, 1}, 7, 0, {872, 4}},
      {&kA100, max_dim, fp32, fp32, {1000, 2048, 16}, {32768, 16, 1}, 2, 0, {458752000, 500}},
      {&kA100, mean, bf16, bf16, {7, 4096, 64}, {64, 448, 1}, 7, 0, {896, 4}},
      {&kA100, mean, bf16, bf16, {16, 32, 4, 129}, {49536, 1548, 129, 1}, 15, 1032, {132, 4}},
      {&kA100, norm, fp16, fp16, {2304, 4096, 96}, {96, 0, 1}, 7, 0, {27648, 4}},
      {&kA100, sum, bf16, bf16, {64, 512, 7, 1}, {3584, 7, 1, 1}, 15, 0, {112, 4}},
      {&kH100,
       logical,
       fp16,
       boolean,
       {2048, 50, 50, 32},
       {2500, 50, 1, 5120000},
       15,
       0,
       {2500, 4}},
      {&kH100, norm, fp32, fp32, {32, 96, 96}, {1, 3072, 32}, 7, 0, {144, 4}},
      {&kH100, sum, fp16, fp32, {8192, 256, 512}, {131072, 512, 1}, 3, 0, {536870912, 16}},
      {&kV100, max_dim, fp16, fp16, {50257, 7}, {7, 1}, 1, 0, {11200, 8}},
      {&kV100, mean, fp16, fp16, {4, 1000, 129}, {387000, 387, 1}, 7, 129, {252, 4}},
      {&kV100, sum, fp32, fp32, {1024, 512, 8}, {8, 0, 1}, 5, 0, {1310720, 64}},
  });
}

TEST_CASE("reduce: beyond 32-bit offsets the kernel runs in parts, narrow results get accumulators",
          "[workloads][kernels][golden]") {
  using enum Reduction;
  using enum DType;
  check_rows({
      {&kA100,
       argmax,
       fp32,
       int64,
       {80, 4, 50257, 80},
       {16082240, 4020560, 80, 1},
       1,
       0,
       {257315840}},
      {&kA100,
       logical,
       int64,
       boolean,
       {500, 1000, 1000},
       {1000000, 1000, 1},
       7,
       0,
       {15264, 4, 15264, 4}},
      {&kA100,
       mean,
       fp16,
       fp16,
       {1000, 512, 2304},
       {512, 1, 512000},
       7,
       0,
       {4, 18000, 4, 18000, 4}},
      {&kA100,
       mean,
       bf16,
       bf16,
       {80, 300, 12, 4096},
       {14745600, 49152, 4096, 1},
       13,
       0,
       {1200, 18000, 1200, 18000, 1200}},
      {&kA100, norm, fp32, fp32, {4096, 32, 8192}, {262144, 8192, 1}, 7, 0, {16384, 4, 16384, 4}},
      {&kA100,
       amax,
       bf16,
       bf16,
       {80, 96, 129, 2048, 1},
       {264192, 21135360, 2048, 1, 1},
       31,
       0,
       {15480, 4, 15480, 4}},
      {&kH100,
       max_dim,
       fp32,
       fp32,
       {4096, 4096, 64},
       {262144, 64, 1},
       2,
       0,
       {4194304, 1073741824, 4096, 1073741824, 4096}},
      {&kV100,
       norm,
       fp16,
       fp16,
       {12, 500, 100, 1000},
       {150000000, 100000, 1000, 1},
       15,
       100000000,
       {4, 9156, 4, 9156, 4}},
  });
}

TEST_CASE("embedding: the backward pass sorts more than 3072 indices",
          "[workloads][kernels][golden]") {
  CHECK(text(embedding_backward(kA100, 3072, 50257, 768, DType::fp32)) == "+154389504#0");
  CHECK(text(embedding_backward(kA100, 3073, 50257, 768, DType::bf16)) ==
        "+24584#0 +24584#1 +24584#2 +67583#3 -#3 -#2 +77194752#4 +24584#5 +8#6 +24584#7 +767#8 -#8 "
        "-#7 +24584#9 +24584#10 +1023#11 -#11 +8#12 +27040#13 +10383360#14 -#14 -#13 -#12 -#10 -#9 "
        "-#6 -#5 -#1 -#0");
  CHECK(text(embedding_backward(kA100, 262144, 50257, 768, DType::fp32)) ==
        "+2097152#0 +2097152#1 +2097152#2 +4281855#3 -#3 -#2 +154389504#4 +2097152#5 +8#6 "
        "+2097152#7 +7167#8 -#8 -#7 +402056#9 +402056#10 +1791#11 -#11 +8#12 +611768#13 "
        "+234918912#14 -#14 -#13 -#12 -#10 -#9 -#6 -#5 -#1 -#0");
}

TEST_CASE("embedding: indexed accumulation sorts by the bits of a row number",
          "[workloads][kernels][golden]") {
  CHECK(text(index_put_accumulate(kA100, 2304, 4096)) ==
        "+18432#0 +18432#1 -#0 +18432#2 +18432#3 +18432#4 +1#5 -#5 -#4 -#3 -#2 -#1");
  CHECK(text(index_put_accumulate(kA100, 4096, 4096)) ==
        "+32768#0 +32768#1 -#0 +32768#2 +32768#3 +32768#4 +72191#5 -#5 -#4 -#3 -#2 -#1");
  CHECK(text(index_put_accumulate(kV100, 65536, 4096)) ==
        "+524288#0 +524288#1 -#0 +524288#2 +524288#3 +524288#4 +1077759#5 -#5 -#4 -#3 -#2 -#1");
}

TEST_CASE("embedding: scans, sorts and selections", "[workloads][kernels][golden]") {
  CHECK(cumsum_scratch(2, 512, DType::int64, {2, 6}) == 0);
  CHECK(cumsum_scratch(1, 8192, DType::int64, {2, 6}) == 1023);
  CHECK(cumsum_scratch(1, 8192, DType::fp32, {2, 6}) == 767);
  CHECK(cumsum_scratch(2, 512, DType::int64, {2, 15}) == 0);
  CHECK(cumsum_scratch(1, 8192, DType::int64, {2, 15}) == 1279);
  CHECK(cumsum_scratch(1, 1'000'000, DType::int64, {2, 15}) == 18943);
  CHECK(cumsum_scratch(1, 8, DType::int32, {2, 15}) == 1023);
  CHECK(text(sort_int64(kA100, 4096)) == "+32768#0 +32768#1 +32768#2 -#2");
  CHECK(text(sort_int64(kA100, 8192)) == "+65536#0 +65536#1 +65536#2 +151039#3 -#3 -#2");
  CHECK(text(sort_int64(kV100, 65536)) == "+524288#0 +524288#1 +524288#2 +1090047#3 -#3 -#2");
  CHECK(text(nonzero(kA100, 4096)) == "+4#0 +1#1 -#1 +767#2 -#2 -#0");
  CHECK(text(nonzero(kH100, 8192)) == "+4#0 +21503#1 -#1 +767#2 -#2 -#0");
  CHECK(text(nonzero(kV100, 65536)) == "+4#0 +13055#1 -#1 +1535#2 -#2 -#0");
}

TEST_CASE("attention: flash splits keys over idle multiprocessors and expands grouped gradients",
          "[workloads][kernels][golden]") {
  using enum DType;
  const std::vector<AttentionRow> rows{
      {&kA100, bf16, shape_of(2, 12, 12, 512, 512, 64), 0, {49152}, {49152, 3145728}},
      {&kA100, bf16, shape_of(2, 12, 12, 512, 512, 100), 0, {49152}, {49152, 6291456}},
      {&kH100,
       bf16,
       shape_of(2, 12, 12, 512, 512, 80),
       0,
       {49152, 196608, 18874368},
       {49152, 4718592}},
      {&kA100, fp16, shape_of(4, 1, 1, 200, 200, 72), 0, {3200, 6400, 614400}, {4096, 393216}},
      {&kA100,
       fp16,
       shape_of(1, 4, 4, 1024, 1024, 64),
       0,
       {16384, 32768, 2097152},
       {16384, 1048576}},
      {&kA100, bf16, shape_of(2, 4, 4, 512, 512, 64), 0.1, {16384}, {16384, 1048576}},
      {&kA100,
       fp16,
       shape_of(2, 5, 1, 100, 100, 160),
       0,
       {4000, 8000, 1280000},
       {5120, 819200, 320000, 320000}},
      {&kH100, fp16, shape_of(1, 3, 3, 100, 100, 256), 0, {1200, 2400, 614400}, {1536, 393216}},
      {&kH100,
       bf16,
       shape_of(1, 16, 8, 127, 1000, 72),
       0,
       {8128, 65024, 6242304},
       {8192, 786432, 2304000, 2304000}},
  };
  for (const AttentionRow& row : rows) {
    CAPTURE(row.shape.batch, row.shape.heads, row.shape.q_len, row.shape.head_dim);
    const FlashForward forward = flash_forward(*row.gpu, row.shape, row.dropout);
    CHECK(nonzero_sizes({forward.logsumexp, forward.split_logsumexp, forward.split_output}) ==
          row.forward);
    const FlashBackward backward = flash_backward(row.shape, row.dtype);
    CHECK(nonzero_sizes({backward.softmax_d, backward.dq_accum, backward.dk_expanded,
                         backward.dv_expanded}) == row.backward);
  }
}

TEST_CASE("attention: the efficient kernel's variants differ in workspace and row sums",
          "[workloads][kernels][golden]") {
  using enum DType;
  const std::vector<AttentionRow> rows{
      {&kA100,
       fp32,
       shape_of(2, 12, 12, 256, 256, 64),
       0,
       {24576},
       {1572864, 24576, 24576, 1574400}},  // ops-gpt2-fp32-sdpa
      {&kA100, bf16, shape_of(2, 12, 12, 512, 512, 256), 0, {49152, 12582912}, {49152, 37754880}},
      {&kA100, bf16, shape_of(1, 3, 3, 127, 127, 144), 0, {1536, 219456}, {1524, 1081488}},
      {&kA100, fp32, shape_of(1, 4, 4, 31, 31, 160), 0.1, {512}, {79360, 496, 496, 393408}},
      {&kA100, bf16, shape_of(1, 8, 8, 777, 4096, 80), 0.1, {25600}, {24864, 3670912}},
      {&kH100, fp16, shape_of(1, 4, 4, 64, 64, 192), 0, {1024, 196608}, {1024, 917696}},
      {&kH100,
       fp32,
       shape_of(4, 16, 16, 1024, 1024, 80),
       0,
       {262144},
       {20971520, 262144, 262144, 33570816}},
      {&kH100, fp16, shape_of(4, 25, 25, 129, 129, 72), 0, {64000}, {51600, 13110400}},
      {&kV100,
       fp16,
       shape_of(8, 8, 8, 7, 1000, 240),
       0.1,
       {8192, 430080},
       {430080, 430080, 430080, 1792, 1792, 33558528}},
      {&kV100,
       fp32,
       shape_of(1, 12, 12, 777, 777, 104),
       0,
       {38400},
       {3878784, 37296, 37296, 5116800}},
      {&kV100, fp16, shape_of(2, 8, 8, 31, 2048, 72), 0, {2048}, {1984, 1049088}},
  };
  for (const AttentionRow& row : rows) {
    CAPTURE(row.shape.batch, row.shape.heads, row.shape.q_len, row.shape.head_dim);
    const EfficientForward forward = efficient_forward(row.shape, row.dtype, true);
    CHECK(nonzero_sizes({forward.logsumexp, forward.accumulator}) == row.forward);
    const EfficientBackward b =
        efficient_backward(*row.gpu, row.shape, row.dtype, row.dropout, false);
    CHECK(nonzero_sizes({b.float_grad, b.float_output, b.product, b.row_sums, b.delta,
                         b.workspace}) == row.backward);
  }
  const AttentionShape odd = shape_of(2, 4, 4, 100, 100, 64);
  CHECK(efficient_backward(kA100, odd, bf16, 0, true).grad_bias == 179200);
  CHECK(efficient_forward(odd, bf16, false).logsumexp == 0);
  CHECK(efficient_mask_row(129) == 136);
}

TEST_CASE("attention: wide heads that train on GPUs of 8.6 and 8.9",
          "[workloads][kernels][golden]") {
  const Gpu ada{.major = 8, .minor = 9, .multiprocessors = 128};
  const auto [head_dim, dropout, kernel] = GENERATE(table<std::int64_t, double, SdpaBackend>({
      {192, 0.1, SdpaBackend::flash},
      {208, 0, SdpaBackend::efficient},
      {224, 0, SdpaBackend::efficient},
      {256, 0, SdpaBackend::flash},
      {256, 0.1, SdpaBackend::efficient},
  }));
  const SdpaCall call{.shape = shape_of(1, 4, 4, 1024, 1024, head_dim),
                      .dtype = DType::bf16,
                      .is_causal = true,
                      .dropout = dropout};
  CHECK(select_sdpa_backend(ada, call) == kernel);
  CHECK(select_sdpa_backend(kA100, call) == SdpaBackend::flash);
}

TEST_CASE("attention: SDPA's own choice of a kernel", "[workloads][kernels][golden]") {
  using enum SdpaBackend;
  SdpaCall call{
      .shape = shape_of(2, 12, 12, 512, 512, 64), .dtype = DType::bf16, .is_causal = true};
  CHECK(select_sdpa_backend(kA100, call) == flash);
  CHECK(select_sdpa_backend(kH100, call) == flash);
  CHECK(select_sdpa_backend(kV100, call) == math);
  call.dtype = DType::fp16;
  CHECK(select_sdpa_backend(kV100, call) == efficient);
  call.shape = shape_of(2, 12, 12, 512, 512, 20);
  CHECK(select_sdpa_backend(kV100, call) == math);
  call.dtype = DType::fp32;
  CHECK(select_sdpa_backend(kA100, call) == efficient);
  call.shape = shape_of(2, 8, 2, 512, 512, 64);
  call.enable_gqa = true;
  CHECK(select_sdpa_backend(kA100, call) == math);
  call.forced = flash;
  CHECK(select_sdpa_backend(kA100, call) == std::nullopt);
  SdpaCall masked{.shape = shape_of(2, 4, 4, 500, 500, 64), .dtype = DType::bf16, .mask = true};
  CHECK(select_sdpa_backend(kA100, masked) == efficient);
}

TEST_CASE(
    "attention: newer releases take cuDNN on Hopper, and grouped heads in the efficient kernel",
    "[workloads][kernels]") {
  using enum SdpaBackend;
  SdpaCall call{.shape = shape_of(2, 12, 4, 512, 512, 64),
                .dtype = DType::bf16,
                .is_causal = true,
                .enable_gqa = true,
                .torch = {2, 11}};
  CHECK(select_sdpa_backend(kH100, call) == cudnn);
  CHECK(select_sdpa_backend(kA100, call) == flash);
  call.dropout = 0.1;  // no multiple of 1/16
  CHECK(select_sdpa_backend(kH100, call) == flash);
  call.dropout = 0.125;
  CHECK(select_sdpa_backend(kH100, call) == cudnn);
  call.shape = shape_of(2, 8, 1, 512, 512, 256);
  CHECK(select_sdpa_backend(kH100, call) == flash);
  call.torch = {2, 15};
  CHECK(select_sdpa_backend(kH100, call) == cudnn);
  call.dtype = DType::fp32;
  CHECK(select_sdpa_backend(kH100, call) == efficient);
  call.enable_gqa = false;  // one key head needs no flag
  CHECK(select_sdpa_backend(kA100, call) == efficient);
  call.torch = {2, 12};
  CHECK(select_sdpa_backend(kA100, call) == math);
}

TEST_CASE("attention: the efficient backward has a copy for each query head of a group",
          "[workloads][kernels][golden]") {
  const EfficientBackward found =
      efficient_backward(kA100, shape_of(2, 12, 4, 256, 256, 64), DType::fp32, 0, false);
  CHECK(found.dk_expanded == 1572864);
  CHECK(found.dv_expanded == 1572864);
}

TEST_CASE("grouped products: one kernel on Hopper, for bf16", "[workloads][kernels][golden]") {
  CHECK(runs_grouped_kernel(kH100, DType::bf16));
  CHECK_FALSE(runs_grouped_kernel(kH100, DType::fp32));
  CHECK_FALSE(runs_grouped_kernel(kA100, DType::bf16));
  CHECK(grouped_gemm_scratch(kH100, 8).arguments == 480);
  CHECK(grouped_gemm_scratch(kH100, 8).workspace == 67584);
}

TEST_CASE("attention: cuDNN keeps seed and offset on the device", "[workloads][kernels][golden]") {
  const CudnnAttention found = cudnn_attention(shape_of(2, 12, 12, 512, 512, 80), true);
  CHECK(found.logsumexp == 49152);
  CHECK(found.backward_workspace == 3981312);
  CHECK(cudnn_attention(shape_of(2, 12, 12, 512, 512, 80), false).logsumexp == 0);
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
  CHECK(cublaslt_workspace({2, 11}).life == WorkspaceLife::shared);
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

TEST_CASE("layer_norm: statistics are floats", "[workloads][kernels][golden]") {
  CHECK(layer_norm_statistic_bytes(4096) == 16384);
}
