// Workspaces of cuDNN's attention, as recorded with NVIDIA's cuDNN 9.26 answering for each GPU
// (PyTorch 2.15; tests/tools/python/cudnn_attention_test.py asks for others).
#include "workloads/kernels/cudnn_attention.hpp"

#include <vector>

#include <catch2/catch.hpp>

#include "tests/workloads/kernels/recorded_gpus.hpp"

using namespace highwater;
using namespace highwater::test;

namespace {

struct Row {
  const Gpu* gpu;
  AttentionShape shape;  ///< batch, heads, key heads, queries, keys, channels, those of values
  double dropout;
  std::int64_t forward;
  std::int64_t backward;
};

}  // namespace

TEST_CASE("attention: the workspaces that cuDNN asks for", "[workloads][kernels][golden]") {
  const Gpu b200 = *find_gpu("b200");
  const Gpu ada = *find_gpu("rtx4090");
  const std::vector<Row> rows{
      {&kH100, {2, 8, 8, 1000, 1000, 64, 64}, 0, 256, 4160256},
      {&kH100, {2, 8, 2, 2048, 2048, 128, 128}, 0, 256, 33685760},
      {&kH100, {2, 8, 2, 1024, 1024, 128, 128}, 0.125, 256, 16843008},
      {&kH100, {2, 8, 2, 1024, 1024, 192, 128}, 0, 256, 23134464},
      {&b200, {2, 8, 8, 1000, 1000, 64, 64}, 0, 0, 4160000},
      {&b200, {2, 8, 2, 1024, 1024, 128, 128}, 0, 0, 16842880},
      {&b200, {2, 8, 2, 1024, 1024, 128, 128}, 0.125, 2097280, 18940032},
      {&b200, {2, 8, 2, 100, 100, 128, 128}, 0, 0, 2496896},
      {&b200, {1, 84, 12, 333, 128, 48, 48}, 0, 0, 12966032},
      {&b200, {3, 2, 1, 17, 17, 56, 56}, 0, 0, 78680},
      {&b200, {2, 8, 8, 1024, 1024, 256, 256}, 0, 0, 65536},
      {&b200, {2, 8, 2, 1024, 1024, 256, 256}, 0, 0, 50397312},
      {&kA100, {2, 8, 2, 1024, 1024, 128, 128}, 0, 0, 25231488},
      {&ada, {2, 8, 2, 1024, 1024, 128, 128}, 0, 0, 25231488},
  };
  for (const Row& row : rows) {
    INFO(row.gpu->name << " of " << row.shape.q_len << " x " << row.shape.head_dim);
    const CudnnAttention found =
        cudnn_attention(*row.gpu, {.shape = row.shape, .dropout = row.dropout});
    CHECK(found.forward_workspace == row.forward);
    CHECK(found.backward_workspace == row.backward);
  }
}

TEST_CASE("attention: without cuDNN's own workspaces there are those of its frontend",
          "[workloads][kernels][golden]") {
  CudnnCall call{.shape = {2, 12, 4, 512, 512, 80, 80}, .workspaces = CudnnWorkspaces::none};
  CHECK(cudnn_attention(kH100, call).logsumexp == 49152);
  CHECK(cudnn_attention(kH100, call).forward_workspace == 0);
  CHECK(cudnn_attention(kH100, call).backward_workspace == 3981312);
  call.logsumexp = Logsumexp::omitted;
  CHECK(cudnn_attention(kH100, call).logsumexp == 0);
}
