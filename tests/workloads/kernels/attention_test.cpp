// Scratch of attention kernels, and which of them runs, as recorded (recorded_gpus.hpp).
#include "workloads/kernels/attention.hpp"

#include <cstdint>
#include <vector>

#include <catch2/catch.hpp>

#include "tests/workloads/kernels/recorded_gpus.hpp"

using namespace highwater;
using namespace highwater::test;

namespace {

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
    const EfficientForward forward = efficient_forward(row.shape, row.dtype, Logsumexp::computed);
    CHECK(nonzero_sizes({forward.logsumexp, forward.accumulator}) == row.forward);
    const EfficientBackward b =
        efficient_backward(*row.gpu, row.shape, row.dtype, row.dropout, false);
    CHECK(nonzero_sizes({b.float_grad, b.float_output, b.product, b.row_sums, b.delta,
                         b.workspace}) == row.backward);
  }
  const AttentionShape odd = shape_of(2, 4, 4, 100, 100, 64);
  CHECK(efficient_backward(kA100, odd, bf16, 0, true).grad_bias == 179200);
  CHECK(efficient_forward(odd, bf16, Logsumexp::omitted).logsumexp == 0);
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
  const Gpu blackwell = gpu_of(10, 148);
  SdpaCall plain{.shape = shape_of(2, 12, 12, 512, 512, 64), .dtype = DType::bf16};
  CHECK(select_sdpa_backend(blackwell, plain) == math);
  plain.torch = {2, 7};
  CHECK(select_sdpa_backend(blackwell, plain) == flash);
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
  call.dropout = 0.1;  // since 2.12 cuDNN takes multiples of 1/16
  CHECK(select_sdpa_backend(kH100, call) == cudnn);
  call.torch = {2, 12};
  CHECK(select_sdpa_backend(kH100, call) == flash);
  call.dropout = 0.125;
  CHECK(select_sdpa_backend(kH100, call) == cudnn);
  call.shape = shape_of(2, 8, 1, 512, 512, 256);
  call.torch = {2, 11};
  CHECK(select_sdpa_backend(kH100, call) == cudnn);
  call.torch = {2, 10};
  CHECK(select_sdpa_backend(kH100, call) == flash);
  call.torch = {2, 15};
  CHECK(select_sdpa_backend(kH100, call) == cudnn);
  call.dtype = DType::fp32;
  CHECK(select_sdpa_backend(kH100, call) == efficient);
  call.enable_gqa = false;  // one key head needs no flag
  CHECK(select_sdpa_backend(kA100, call) == efficient);
  call.torch = {2, 14};
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
