// Scratch of Transformer Engine's norms, beside what the library asked for on simulated GPUs
// (tools/python/frameworks/transformer_engine/norm_scratch.py).
#include "workloads/kernels/te_norm.hpp"

#include <catch2/catch.hpp>

using namespace highwater;

namespace {

constexpr TeNormKind kRms = TeNormKind::rms;
constexpr TeNormKind kLayer = TeNormKind::layer;

std::int64_t scratch_on(const char* gpu, TeNormKind kind, std::int64_t columns,
                        std::int64_t rows = 65536) {
  return te_norm_backward_scratch(*find_gpu(gpu), {.kind = kind, .rows = rows, .columns = columns});
}

}  // namespace

TEST_CASE("te norm: tuned kernels sum for each block that the GPU holds", "[kernels]") {
  CHECK(scratch_on("h100-80", kRms, 1024) == 1622016);
  CHECK(scratch_on("h100-80", kRms, 2048) == 5406720);
  CHECK(scratch_on("a100-80", kRms, 2048) == 5308416);
  CHECK(scratch_on("h100-80", kLayer, 1024) == 2162688);
  CHECK(scratch_on("h100-80", kLayer, 6144) == 6488064);
}

TEST_CASE("te norm: blocks that share a row exchange sums and meet at a barrier", "[kernels]") {
  CHECK(scratch_on("h100-80", kLayer, 8192) == 8656032);
  CHECK(scratch_on("h100-80", kLayer, 12800) == 10761248);
  CHECK(scratch_on("a100-80", kRms, 18432) == 4724224);
  CHECK(scratch_on("h100-80", kRms, 5120) == 4062960);
  CHECK(scratch_on("b200", kLayer, 12288) == 14559648);
  CHECK(scratch_on("l40s", kRms, 16384) == 6954448);
}

TEST_CASE("te norm: other numbers of channels take a general kernel, of no more blocks than rows",
          "[kernels]") {
  CHECK(scratch_on("h100-80", kRms, 640) == 1013760);
  CHECK(scratch_on("a100-80", kRms, 128) == 552960);
  CHECK(scratch_on("h100-80", kRms, 640, 400) == 100 * 640 * 4);
  CHECK(scratch_on("h100-80", kRms, 1024, 402) == 101 * 1024 * 4);  // rows by fours only
}
