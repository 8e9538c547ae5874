#include "workloads/plan/rules/gpu_kernels.hpp"

#include <catch2/catch.hpp>

using namespace highwater;
using Catch::Matchers::Contains;

// PyTorch's wheels: 2.6 for CUDA 12.4 has sm_50 to sm_90, 2.15 for CUDA 13.2 sm_75 to sm_120.
TEST_CASE("kernels: a GPU that a release has none for", "[plan]") {
  const auto why = [](const char* gpu, const char* torch) {
    return why_no_kernels(*find_gpu(gpu), torch).value_or("");
  };
  CHECK_THAT(why("v100-32", "2.15"),
             Contains("PyTorch 2.15 has no kernels for v100-32 (compute capability 7.0"));
  CHECK(why("v100-32", "2.6").empty());
  CHECK(why("v100-32", "2.9").empty());  // of its wheels nothing is known
  CHECK_THAT(why("b200", "2.6"), Contains("from 5.0 to 9.0"));
  CHECK(why("b200", "2.15").empty());
  for (const char* const gpu : {"t4", "a100-80", "l40s", "rtx4090", "h100-80"}) {
    CAPTURE(gpu);
    CHECK(why(gpu, "2.15").empty());
    CHECK(why(gpu, "2.6").empty());
  }
}
