// Scratch of embeddings, scans, sorts and selections, as recorded (recorded_gpus.hpp).
#include "workloads/kernels/embedding.hpp"

#include <string>

#include <catch2/catch.hpp>

#include "tests/workloads/kernels/recorded_gpus.hpp"

using namespace highwater;
using namespace highwater::test;

namespace {

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

}  // namespace

TEST_CASE("embedding: the backward pass sorts more than 3072 indices",
          "[workloads][kernels][golden]") {
  CHECK(text(embedding_backward(kA100, 3072, 50257, 768, DType::fp32, {2, 6})) == "+154389504#0");
  CHECK(text(embedding_backward(kA100, 3073, 50257, 768, DType::bf16, {2, 6})) ==
        "+24584#0 +24584#1 +24584#2 +67583#3 -#3 -#2 +77194752#4 +24584#5 +8#6 +24584#7 +767#8 -#8 "
        "-#7 +24584#9 +24584#10 +1023#11 -#11 +8#12 +27040#13 +10383360#14 -#14 -#13 -#12 -#10 -#9 "
        "-#6 -#5 -#1 -#0");
  CHECK(text(embedding_backward(kA100, 262144, 50257, 768, DType::fp32, {2, 6})) ==
        "+2097152#0 +2097152#1 +2097152#2 +4281855#3 -#3 -#2 +154389504#4 +2097152#5 +8#6 "
        "+2097152#7 +1791#8 -#8 -#7 +402056#9 +402056#10 +1791#11 -#11 +8#12 +611768#13 "
        "+234918912#14 -#14 -#13 -#12 -#10 -#9 -#6 -#5 -#1 -#0");
}

namespace {

/// Block `number` of the backward of a million indices into 32,000 rows of 64 floats.
std::int64_t block_of_million(const Gpu& gpu, Release torch, int number) {
  for (const ScratchStep& step :
       embedding_backward(gpu, 1'000'000, 32'000, 64, DType::fp32, torch)) {
    if (step.block == number) {
      return step.bytes;
    }
  }
  return 0;
}

Gpu ada() {
  Gpu made = gpu_of(8, 128);
  made.minor = 9;
  made.max_threads_per_multiprocessor = 1536;
  return made;
}

}  // namespace

TEST_CASE("embedding: the storage of CUB's kernels by release and GPU",
          "[workloads][kernels][golden]") {
  constexpr int kUnique = 8;
  CHECK(block_of_million(kA100, {2, 6}, kUnique) == 5119);
  CHECK(block_of_million(ada(), {2, 6}, kUnique) == 25599);
  CHECK(block_of_million(kH100, {2, 6}, kUnique) == 2303);
  CHECK(block_of_million(kV100, {2, 10}, kUnique) == 50943);
  CHECK(block_of_million(kA100, {2, 8}, kUnique) == 9727);
  CHECK(block_of_million(kH100, {2, 10}, kUnique) == 4351);
  CHECK(block_of_million(kA100, {2, 12}, kUnique) == 9983);
  CHECK(block_of_million(ada(), {2, 12}, kUnique) == 51199);
  CHECK(block_of_million(gpu_of(10, 148), {2, 8}, kUnique) == 4351);
  CHECK(block_of_million(gpu_of(10, 148), {2, 12}, kUnique) == 5375);
  CHECK(block_of_million(kA100, {2, 13}, kUnique) == 13055);
  CHECK(block_of_million(gpu_of(12, 170), {2, 15}, kUnique) == 4351);
  constexpr int kScan = 11;
  CHECK(block_of_million(kA100, {2, 10}, kScan) == 1535);
  CHECK(block_of_million(kA100, {2, 12}, kScan) == 1791);
  CHECK(text(nonzero(ada(), 262'144, {2, 12})) == "+4#0 +15615#1 -#1 +4095#2 -#2 -#0");
  CHECK(text(nonzero(gpu_of(10, 148), 262'144, {2, 12})) == "+4#0 +24063#1 -#1 +1535#2 -#2 -#0");
}

TEST_CASE("embedding: since 2.13 indices are sorted by the bits of a row number",
          "[workloads][kernels][golden]") {
  constexpr int kSort = 3;
  CHECK(block_of_million(kH100, {2, 12}, kSort) == 16240127);
  CHECK(block_of_million(kH100, {2, 13}, kSort) == 16227839);
}

TEST_CASE("embedding: since 2.11 few rows with many indices are summed atomically",
          "[workloads][kernels][golden]") {
  CHECK(text(embedding_backward(kA100, 4096, 32, 8, DType::bf16, {2, 12})) ==
        "+32768#0 +32768#1 +32768#2 +84479#3 -#3 -#2 +512#4 +32768#5 +8#6 +32768#7 +1279#8 -#8 -#7 "
        "+256#9 +256#10 +1279#11 -#11 +8#12 +3528#13 +3528#14 +1024#15 -#15 -#14 -#13 -#12 -#10 "
        "-#9 -#6 -#5 -#1 -#0");
  const auto last = [](std::int64_t indices, std::int64_t rows, std::int64_t dim) {
    std::int64_t bytes = 0;
    for (const ScratchStep& step :
         embedding_backward(kA100, indices, rows, dim, DType::fp32, {2, 15})) {
      bytes = step.bytes > 0 ? step.bytes : bytes;
    }
    return bytes;
  };
  CHECK(last(4096, 136, 8) == 4360);
  CHECK(last(4096, 137, 8) == 17472);
  CHECK(last(16384, 400, 8) == 16304);
  CHECK(last(16384, 432, 8) == 66240);
  CHECK(last(40960, 200, 2048) == 34368);
  CHECK(last(40960, 216, 2048) == 35323904);
}

TEST_CASE("embedding: indexed accumulation sorts by the bits of a row number",
          "[workloads][kernels][golden]") {
  CHECK(text(index_put_accumulate(kA100, 2304, 4096)) ==
        "+18432#0 +18432#1 -#0 +18432#2 +18432#3 +18432#4 +1#5 -#5 -#4 -#3 -#2 -#1");
  CHECK(text(index_put_accumulate(kA100, 4096, 4096)) ==
        "+32768#0 +32768#1 -#0 +32768#2 +32768#3 +32768#4 +72191#5 -#5 -#4 -#3 -#2 -#1");
  CHECK(text(index_put_accumulate(kA100, 4096, 100)) ==
        "+32768#0 +32768#1 -#0 +32768#2 +32768#3 +32768#4 +4607#5 -#5 -#4 -#3 -#2 -#1");
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
  CHECK(text(nonzero(kA100, 4096, {2, 6})) == "+4#0 +1#1 -#1 +767#2 -#2 -#0");
  CHECK(text(nonzero(kH100, 8192, {2, 6})) == "+4#0 +21503#1 -#1 +767#2 -#2 -#0");
  CHECK(text(nonzero(kV100, 65536, {2, 6})) == "+4#0 +13055#1 -#1 +1535#2 -#2 -#0");
}
