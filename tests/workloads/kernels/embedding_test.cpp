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
