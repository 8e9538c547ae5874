// Scratch of reductions, as recorded (recorded_gpus.hpp).
#include "workloads/kernels/reduce.hpp"

#include <algorithm>
#include <cstdint>
#include <vector>

#include <catch2/catch.hpp>

#include "tests/workloads/kernels/recorded_gpus.hpp"

using namespace highwater;
using namespace highwater::test;

namespace {

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

// The bias gradients of a TransformerEncoderLayer (1024 and 256 channels, bf16) and of a ViT (576),
// recorded with PyTorch 2.15 at several numbers of tokens.
TEST_CASE("reduce: a tensor of 2^60 bytes, of 2^29 parts, is looked at like any other",
          "[workloads][kernels]") {
  // The mean of each row of 4096: no part needs scratch, and none is visited twice.
  const Sizes sizes{std::int64_t{1} << 47, 4096};
  const Sizes strides{4096, 1};
  CHECK(reduce_scratch(kA100, Reduction::mean, {sizes, strides, 2, 0, DType::bf16, DType::bf16})
            .empty());
}

TEST_CASE("reduce: the split of a sum gives its workspace at every length",
          "[workloads][kernels]") {
  struct Row {
    std::int64_t channels;
    std::int64_t tokens;
    std::int64_t buffer;
    std::int64_t semaphores;
  };

  const Row row = GENERATE(values<Row>({{1024, 3072, 25165824, 32},
                                        {1024, 8192, 67108864, 32},
                                        {1024, 32768, 138412032, 32},
                                        {576, 32896, 124747776, 20},
                                        {192, 32896, 50528256, 8}}));
  const Sizes sizes{2048, row.channels};
  const Sizes strides{row.channels, 1};
  const auto split =
      reduce_split(kH100, Reduction::sum, {sizes, strides, 1, 0, DType::bf16, DType::bf16});
  REQUIRE(split);
  const std::int64_t wanted = (row.tokens + split->values_per_block - 1) / split->values_per_block;
  CHECK(split->unit * std::min(wanted, split->most_blocks) == row.buffer);
  CHECK(split->semaphores == row.semaphores);
  CHECK(split->fewest_values == 1021);  // 1020 tokens were recorded without a workspace
}

TEST_CASE("reduce: far beyond its limit a split grows again", "[workloads][kernels]") {
  const Sizes strides{1024, 1};
  const auto in = [&](const Sizes& sizes) {
    return ReduceInput{sizes, strides, 1, 0, DType::bf16, DType::bf16};
  };
  const Sizes some{2048, 1024};
  const Sizes many{300000, 1024};
  const auto split = reduce_split(kH100, Reduction::sum, in(some));
  REQUIRE(split);
  const std::int64_t wanted = (many[0] + split->values_per_block - 1) / split->values_per_block;
  const std::int64_t resumed = (wanted + kMostValuesRatio - 1) / kMostValuesRatio;
  CHECK(resumed > split->most_blocks);
  CHECK(reduce_scratch(kH100, Reduction::sum, in(many)).front().buffer == split->unit * resumed);
}

TEST_CASE("reduce: what needs no workspace has no split", "[workloads][kernels]") {
  const Sizes sizes{1020, 1024};
  const Sizes strides{1024, 1};
  CHECK_FALSE(
      reduce_split(kH100, Reduction::sum, {sizes, strides, 1, 0, DType::bf16, DType::bf16}));
}
